// The images of the local store to clients that do not read, over real connections.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import express from "express";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalMediaStore } from "../media/local/local-media-store.ts";
import { serveMedia } from "./media-route.ts";

const KEY = "avatars/22222222-2222-4222-8222-222222222222/0123456789abcdef0123456789abcdef.png";
const MIB = 1024 * 1024;
/** More than the buffers of two sockets take. */
const IMAGE = { format: "png", width: 16, height: 16, bytes: Buffer.alloc(16 * MIB, "0123456789") } as const;

let folder: ReturnType<typeof makeTemporaryFolder>;
let server: Server;
let client: Socket;
let opened: number;
let errors: unknown[];
const responses: ServerResponse[] = [];

beforeEach(() => {
  folder = makeTemporaryFolder();
  opened = 0;
  errors = [];
  responses.length = 0;
});

afterEach(() => {
  client.destroy();
  server.close();
  server.closeAllConnections();
  folder.remove();
});

/** Starts a server with the image, sends `requests`, and reads nothing. */
async function start(requests: string, stallMaxMs?: number): Promise<void> {
  const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => "" });
  await store.put(KEY, IMAGE);
  const counting: typeof store = {
    ...store,
    open: (key) => {
      opened += 1;
      return store.open(key);
    },
  };
  const app = express();
  app.use((_request, response, next) => {
    responses.push(response);
    next();
  });
  app.get(/^\/media\/.*/, serveMedia(counting, stallMaxMs));
  app.use(((error, _request, response, _next) => {
    errors.push(error);
    response.destroy();
  }) satisfies express.ErrorRequestHandler);
  server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.pause();
  client.on("error", () => undefined); // The server may reset the connection.
  client.write(requests);
}

const requestOf = (method: string): string => `${method} /media/${KEY} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe("serveMedia()", () => {
  it("holds little of an image that a client does not read, and no file for its next requests", async () => {
    await start(requestOf("GET").repeat(3));
    await eventually("the answer", () => expect(responses[0]?.headersSent).toBe(true));
    await eventually("the requests", () => expect(responses).toHaveLength(3));
    expect(responses[0]?.writableLength).toBeLessThan(MIB);
    expect(opened).toBe(1);
  });

  it("closes the connection of a client that takes nothing", async () => {
    await start(requestOf("GET"), 200);
    await eventually("the end of the answer", () => expect(responses[0]?.closed).toBe(true));
    expect(responses[0]?.writableFinished).toBe(false);
    expect(errors).toEqual([]);
  });

  it("is silent about a client that goes", async () => {
    await start(requestOf("GET"));
    await eventually("the answer", () => expect(responses[0]?.headersSent).toBe(true));
    client.destroy();
    await eventually("the end of the answer", () => expect(responses[0]?.closed).toBe(true));
    expect(errors).toEqual([]);
  });

  it("sends whole images one after the other on one connection, and HEAD without the image", async () => {
    await start(requestOf("HEAD") + requestOf("GET") + requestOf("GET"));
    let bytes = 0;
    client.on("data", (chunk) => (bytes += chunk.length));
    client.resume();
    await eventually("the answers", () =>
      expect(responses.map((one) => one.writableFinished)).toEqual([true, true, true]),
    );
    await eventually("the bytes", () => expect(bytes).toBeGreaterThan(2 * IMAGE.bytes.length));
    expect(bytes).toBeLessThan(2 * IMAGE.bytes.length + 4096);
    expect(responses[0]?.getHeader("content-length")).toBe(IMAGE.bytes.length);
  });
});
