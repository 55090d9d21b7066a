// Pipelined requests over real sockets: as many as are allowed are answered, one more ends the
// connection.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { PipeliningLimit, UNANSWERED_MAX } from "./pipelining-limit.ts";

const WAIT = { timeout: 15_000 };
const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

describe("PipeliningLimit", () => {
  const limit = new PipeliningLimit();
  const waiting: ServerResponse[] = [];
  let server: Server | undefined;
  let client: Socket | undefined;

  afterEach(async () => {
    waiting.length = 0;
    client?.destroy();
    server?.closeAllConnections();
    server?.close();
    if (server !== undefined) await once(server, "close");
  });

  /** A client of a server that answers nothing by itself. */
  async function open(): Promise<{ socket: Socket; answers: () => number }> {
    server = createServer((request, response) => {
      if (limit.admit(request, response)) waiting.push(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client = socket;
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => (text += part));
    socket.on("error", () => undefined); // Its end is what some tests are about.
    return { socket, answers: () => text.split("HTTP/1.1 200").length - 1 };
  }

  it("admit() takes as many requests as are allowed, and again as many when those are answered", async () => {
    const { socket, answers } = await open();
    for (const round of [1, 2]) {
      socket.write(REQUEST.repeat(UNANSWERED_MAX));
      await expect.poll(() => waiting.length, WAIT).toBe(UNANSWERED_MAX);
      for (const response of waiting.splice(0)) response.end();
      await expect.poll(answers, WAIT).toBe(round * UNANSWERED_MAX);
    }
  });

  it("admit() ends the connection when there is one request too many", async () => {
    const { socket } = await open();
    const closed = new Promise((resolve) => socket.once("close", resolve)); // Perhaps by a reset, which is an error here and no failure.
    socket.write(REQUEST.repeat(UNANSWERED_MAX + 1));
    await closed;
    expect(waiting).toHaveLength(UNANSWERED_MAX);
  });
});
