// Tests of how forward-port.ts fails, with a server that sends the kubelet's frames in the order and the
// packets of the test. A busy machine makes all of them happen.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ClusterAccess } from "../access/cluster-access.ts";
import { forwardPort } from "./forward-port.ts";

const PORT = 513;
/** The first frames of a kubelet on both channels: the port. */
const GREETING = Buffer.concat([frame(0x82, "\0\x01\x02"), frame(0x82, "\x01\x01\x02")]);
const DATA = frame(0x82, "\0answer");
const WORDS = frame(0x82, `\x01error forwarding port ${PORT}: connection refused`);
const CLOSE = frame(0x88, Buffer.of(0x03, 0xe8).toString("latin1"));

const SAID = `Cannot get pods/portforward cp-1: the kubelet says "error forwarding port ${PORT}: connection refused"`;
const BROKE = "Cannot get pods/portforward cp-1: the connection broke";

/** Serves a connection; `head` is the answer that opens the WebSocket. */
type Serve = (socket: Socket, head: Buffer) => void;

const server = createServer();
const sockets: Socket[] = [];
/** One per connection that the test expects. */
let serves: Serve[] = [];
let access: ClusterAccess;

beforeEach(async () => {
  server.removeAllListeners("upgrade").on("upgrade", ({ headers }, socket: Socket) => {
    sockets.push(socket.on("error", () => undefined));
    const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`;
    serves.shift()?.(socket, Buffer.from(head));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  access = {
    forRequest: () => Promise.resolve({ server: url, headers: {}, tls: { ca: undefined }, proxyUrl: undefined }),
    renew: () => undefined,
  };
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await once(server.close(), "close");
});

/** A frame of a server, of at most 125 bytes. */
function frame(opcode: number, payload: string): Buffer {
  return Buffer.concat([Buffer.of(opcode, payload.length), Buffer.from(payload, "latin1")]);
}

async function open(...connections: Serve[]): Promise<Duplex> {
  serves = connections;
  return await forwardPort(
    access,
    { namespace: "weir-system", pod: "cp-1", port: PORT },
    { timeoutMs: 30_000, signal: new AbortController().signal },
  );
}

describe("forwardPort()", () => {
  it.each<{ when: string; serve: Serve }>([
    {
      when: "come with the answer that opens the connection, and its end",
      serve: (socket, head) => socket.end(Buffer.concat([head, GREETING, WORDS, CLOSE])),
    },
    {
      when: "come without a close frame",
      serve: (socket, head) => socket.end(Buffer.concat([head, GREETING, WORDS])),
    },
    {
      when: "come in pieces",
      serve: (socket, head) => {
        const pieces = [head, GREETING, WORDS.subarray(0, 9), WORDS.subarray(9), CLOSE];
        const writeNext = (): void => {
          const piece = pieces.shift();
          if (piece !== undefined) socket.write(piece, () => setImmediate(writeNext));
        };
        writeNext();
      },
    },
    {
      when: "come before a reset",
      serve: (socket, head) => {
        socket.write(Buffer.concat([head, GREETING, WORDS]));
        socket.resetAndDestroy();
      },
    },
  ])("fails with the kubelet's words when they $when", async ({ serve }) => {
    const stream = await open(serve);
    stream.write("question");
    await expect(text(stream)).rejects.toMatchObject({ name: "ApiFailure", message: SAID });
    expect(serves).toEqual([]);
  });

  it("fails with the kubelet's words when what was sent meanwhile made TCP discard them", async () => {
    const stream = await open(
      (socket, head) => socket.write(Buffer.concat([head, GREETING])),
      (socket, head) => socket.write(Buffer.concat([head, GREETING, WORDS])), // Keeps the connection open.
    );
    const [socket] = sockets;
    socket?.write(Buffer.concat([WORDS, CLOSE]));
    socket?.destroy();
    stream.write("question"); // TCP answers it with a reset,
    stream.write("more"); // which this write meets before the words are read.
    await expect(text(stream)).rejects.toMatchObject({ message: SAID });
    expect(serves).toEqual([]);
  });

  it("fails with the refusal of the API server when the pod is gone by then", async () => {
    const stream = await open(
      (socket, head) => socket.write(Buffer.concat([head, GREETING])),
      (socket) => {
        const body = JSON.stringify({ message: 'pods "cp-1" not found', code: 404, details: { name: "cp-1" } });
        socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      },
    );
    stream.write("question");
    sockets[0]?.destroy();
    await expect(text(stream)).rejects.toMatchObject({
      kind: "absent",
      message: 'Cannot get pods/portforward cp-1: the server says "pods "cp-1" not found"',
    });
  });

  it.each<{ when: string; second: Serve }>([
    { when: "has none", second: (socket, head) => socket.end(Buffer.concat([head, GREETING, DATA, CLOSE])) },
    { when: "stays open and has data", second: (socket, head) => socket.write(Buffer.concat([head, GREETING, DATA])) },
    { when: "stays open and is silent", second: (socket, head) => socket.write(Buffer.concat([head, GREETING])) },
  ])("fails soon with a general reason when the second connection $when", async ({ second }) => {
    const stream = await open((socket, head) => socket.write(Buffer.concat([head, GREETING])), second);
    const startedMs = performance.now();
    stream.write("question");
    sockets[0]?.destroy();
    await expect(text(stream)).rejects.toMatchObject({ kind: "unreachable", message: BROKE });
    expect(serves).toEqual([]);
    expect(performance.now() - startedMs).toBeLessThan(10_000); // Of 30 s that the caller allows.
  });

  it.each<{ when: string; last: readonly Buffer[] }>([
    { when: "the pod has answered", last: [DATA] },
    { when: "nothing was sent", last: [] },
  ])("looks for no words when the connection breaks and $when", async ({ last }) => {
    const unused: Serve = (socket) => socket.destroy();
    const stream = await open((socket, head) => socket.end(Buffer.concat([head, GREETING, ...last])), unused);
    if (last.length > 0) stream.write("question");
    await expect(text(stream)).rejects.toMatchObject({ kind: "unreachable", message: BROKE });
    expect(serves).toEqual([unused]);
  });

  it("ends without an error when the close frame has come", async () => {
    const stream = await open((socket, head) => socket.write(Buffer.concat([head, GREETING, DATA, CLOSE])));
    const ended = text(stream);
    stream.write("question");
    sockets[0]?.on("data", () => sockets[0]?.end());
    expect(await ended).toBe("answer");
  });

  it("stops looking for words when the stream is destroyed", async () => {
    const silent = Promise.withResolvers<Socket>();
    const stream = await open(
      (socket, head) => socket.write(Buffer.concat([head, GREETING])),
      (socket, head) => {
        socket.write(Buffer.concat([head, GREETING]));
        silent.resolve(socket);
      },
    );
    stream.write("question");
    sockets[0]?.destroy();
    const second = await silent.promise;
    stream.destroy();
    await new Promise((resolve) => second.resume().once("close", resolve)); // Also by a reset.
  });
});
