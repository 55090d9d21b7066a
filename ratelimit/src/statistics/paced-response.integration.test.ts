// Long answers over real sockets: no faster than they are read, few at a time, and over when the
// client goes.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { PacedResponses, type Pieces } from "./paced-response.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT = { timeout: 40_000 };

const PIECE = "x".repeat(100_000);

describe("new PacedResponses()", () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  });

  /**
   * A server that answers with what `write` makes; returns its port and how many requests came and
   * answers ended.
   */
  async function serve(write: (request: IncomingMessage) => Pieces, clientTimeoutMs?: number) {
    const responses = new PacedResponses(clientTimeoutMs);
    const asked = { count: 0 };
    const ended = { count: 0 };
    const server = createServer((request: IncomingMessage, response: ServerResponse) => {
      asked.count += 1;
      void responses.send(response, () => write(request)).then(() => (ended.count += 1));
    });
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return { port: typeof address === "object" ? (address?.port ?? 0) : 0, asked, ended };
  }

  /** A client that asks and reads nothing. */
  function ask(port: number): Socket {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("error", () => undefined); // Its end is part of some tests.
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    sockets.push(socket);
    return socket;
  }

  it("send() delivers all pieces in their order", async () => {
    const { port } = await serve(function* () {
      for (let index = 0; index < 10; index++) yield index % 2 === 0 ? `${index}${PIECE}` : "";
    });
    const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(text).toBe([0, 2, 4, 6, 8].map((index) => `${index}${PIECE}`).join(""));
  });

  it("send() makes no more than fits on the way while the client does not read, and the rest when it does", async () => {
    let made = 0;
    const { port, ended } = await serve(function* () {
      for (; made < 1000; made++) yield PIECE;
    });
    const socket = ask(port);
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = made === before && made > 0;
          before = made;
          return isStill;
        },
        { ...WAIT, interval: 200 },
      )
      .toBe(true);
    expect(made).toBeLessThan(300); // 100 MB would be made immediately without pacing.
    socket.resume();
    await expect.poll(() => ended.count, WAIT).toBe(1);
    expect(made).toBe(1000);
  });

  it("send() gives up when the client goes, and makes two answers at a time, the next when one is over", async () => {
    let begun = 0;
    const { port, asked, ended } = await serve(function* () {
      begun += 1;
      for (;;) yield PIECE;
    });
    const first = ask(port);
    ask(port);
    await expect.poll(() => begun, WAIT).toBe(2);
    ask(port);
    ask(port);
    await expect.poll(() => asked.count, WAIT).toBe(4);
    expect(begun).toBe(2);
    first.destroy();
    await expect.poll(() => ended.count, WAIT).toBe(1);
    await expect.poll(() => begun, WAIT).toBe(3);
  });

  it("send() ends the connection of a client that takes nothing, so that others have their turn", async () => {
    const { port, ended } = await serve(function* () {
      for (;;) yield PIECE;
    }, 200);
    const sockets = [ask(port), ask(port), ask(port)];
    await expect.poll(() => ended.count, WAIT).toBe(3);
    for (const socket of sockets) socket.resume();
    await expect.poll(() => sockets.map((socket) => socket.destroyed), WAIT).toEqual([true, true, true]);
  });
});
