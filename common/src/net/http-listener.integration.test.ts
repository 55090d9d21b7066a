// The HTTP/1.1 listener over real sockets: pipelined requests, refusals, expectations, the end.
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { silentLog } from "../log/log.ts";
import { HttpListener, type HttpListenerOptions, UNANSWERED_MAX } from "./http-listener.ts";

const WAIT = { timeout: 40_000 };
const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

describe("HttpListener", () => {
  const waiting: ServerResponse[] = [];
  const clients: Socket[] = [];
  /** How often the service was asked about /asked. */
  let asked = 0;
  let listener: HttpListener;

  afterEach(async () => {
    waiting.length = 0;
    asked = 0;
    for (const client of clients.splice(0)) client.destroy();
    await listener.stop();
  });

  /** Opens a listener that answers nothing by itself. */
  async function listen(options: Partial<HttpListenerOptions> = {}): Promise<void> {
    listener = new HttpListener(
      { log: silentLog() },
      {
        handle: (_request, response) => waiting.push(response),
        refuse: ({ status }, request) => ({
          type: "text/plain",
          body: `refused ${status}`,
          headers: { "X-Path": request?.url ?? "none" },
        }),
        wantsBody: ({ url }) => {
          if (url === "/asked") asked += 1;
          return url !== "/unwanted";
        },
      },
      { host: "127.0.0.1", port: 0, setting: "PORT", what: "HTTP", connectionsMax: 100, ...options },
    );
    await listener.start();
  }

  function open(): { readonly socket: Socket; readonly seen: { text: string; isClosed: boolean } } {
    const socket = connect(listener.address()?.port ?? 0, "127.0.0.1");
    clients.push(socket);
    const seen = { text: "", isClosed: false };
    socket.setEncoding("utf8").on("data", (part: string) => (seen.text += part));
    socket.on("error", () => undefined); // Its end is what some tests are about.
    socket.on("close", () => (seen.isClosed = true));
    return { socket, seen };
  }

  it("takes connections at further addresses on the same port, until it drains", async () => {
    await listen({ otherHosts: ["127.0.0.2"] });
    const { port = 0 } = listener.address() ?? {};
    const ask = async (): Promise<number> => (await fetch(`http://127.0.0.2:${port}/`)).status;
    const answer = ask();
    await expect.poll(() => waiting.length, WAIT).toBe(1);
    const drained = listener.drain();
    await expect(ask()).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    waiting[0]?.end();
    expect(await answer).toBe(200);
    await drained;
  });

  it("takes as many unanswered requests as are allowed, and as many again when those are answered", async () => {
    await listen();
    const { socket, seen } = open();
    for (const times of [1, 2]) {
      socket.write(REQUEST.repeat(UNANSWERED_MAX));
      await expect.poll(() => waiting.length, WAIT).toBe(UNANSWERED_MAX);
      for (const response of waiting.splice(0)) response.end();
      await expect.poll(() => seen.text.split("HTTP/1.1 200").length - 1, WAIT).toBe(times * UNANSWERED_MAX);
    }
  });

  it("closes the connection when there is one unanswered request too many", async () => {
    await listen();
    const { socket, seen } = open();
    socket.write(REQUEST.repeat(UNANSWERED_MAX + 1));
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(waiting).toHaveLength(UNANSWERED_MAX);
  });

  it("does not look at the requests after the one too many", async () => {
    await listen({ unansweredMax: 8 });
    const { socket, seen } = open();
    socket.write("GET /asked HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n".repeat(800));
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(waiting).toHaveLength(8);
    expect(asked).toBe(9);
  });

  it.each([
    { what: "bytes that are no request", bytes: "garbage\r\n\r\n", status: 400 },
    { what: "an unfinished header", bytes: "GET / HTTP/1.1\r\nHost: x\r\n", status: 408 },
    { what: "an unfinished body", bytes: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", status: 408 },
  ])("refuses $what with $status in the listener's own format", async ({ bytes, status }) => {
    await listen({ timeouts: { headersMs: 500, requestMs: 500, checkIntervalMs: 50 } });
    const { socket, seen } = open();
    socket.write(bytes);
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(seen.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close\r\n\r\nrefused ${status}$`));
  });

  it.each([
    { header: "GET /a HTTP/1.1\r\nHost: x\r\n", path: "none" },
    { header: "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", path: "/b" },
  ])("gives the request to the refusal of a late one when its header was read: $path", async ({ header, path }) => {
    await listen({ timeouts: { headersMs: 500, requestMs: 500, checkIntervalMs: 50 } });
    const { socket, seen } = open();
    socket.write(header);
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(seen.text).toContain(`X-Path: ${path}\r\n`);
  });

  it("passes on the requests of a connection one after the other with oneAtATime", async () => {
    await listen({ oneAtATime: true });
    const { socket, seen } = open();
    socket.write(REQUEST.repeat(3));
    for (const count of [1, 2, 3]) {
      await expect.poll(() => waiting.length, WAIT).toBe(count);
      waiting.at(-1)?.end(`answer ${count}`);
      await expect.poll(() => seen.text, WAIT).toContain(`answer ${count}`);
    }
    // The others are served while one connection waits.
    socket.write(REQUEST.repeat(2));
    await expect.poll(() => waiting.length, WAIT).toBe(4);
    const other = open();
    other.socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(5);
    waiting.at(-1)?.end("the other");
    await expect.poll(() => other.seen.text, WAIT).toContain("the other");
    expect(waiting).toHaveLength(5);
  });

  describe("with a pace of bodies", () => {
    const PACE = { firstByteMs: 1000, windowMs: 1000, windowBytes: 100, totalMs: 20_000 };
    const POST = "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n";

    it("refuses a body that is late, with its request", async () => {
      await listen({ bodyPace: PACE });
      const { socket, seen } = open();
      socket.write(POST);
      await expect.poll(() => waiting.length, WAIT).toBe(1);
      waiting[0]?.req.resume();
      await expect.poll(() => seen.isClosed, WAIT).toBe(true);
      expect(seen.text).toMatch(/^HTTP\/1\.1 408 [^]*X-Path: \/up\r\n[^]*refused 408$/);
    });

    it("leaves the answer to a handler that listens, and then closes the connection", async () => {
      await listen({ bodyPace: PACE, timeouts: { closeMs: 100 } });
      const { socket, seen } = open();
      socket.write(`${POST}abc`);
      await expect.poll(() => waiting.length, WAIT).toBe(1);
      const [response] = waiting;
      response?.req.resume().on("timeout", () => response.writeHead(408, { "Content-Length": 4 }).write("mine"));
      await expect.poll(() => seen.isClosed, WAIT).toBe(true);
      expect(seen.text).toMatch(/^HTTP\/1\.1 408 [^]*\r\n\r\nmine$/);
    });

    it("closes the connection when the rest of a body is late after its answer", async () => {
      await listen({ bodyPace: PACE });
      const { socket, seen } = open();
      socket.write(POST);
      await expect.poll(() => waiting.length, WAIT).toBe(1);
      waiting[0]?.writeHead(413, { "Content-Length": 7 }).write("too big");
      waiting[0]?.req.resume();
      await expect.poll(() => seen.isClosed, WAIT).toBe(true);
      expect(seen.text).toMatch(/^HTTP\/1\.1 413 [^]*\r\n\r\ntoo big$/);
    });

    it("takes a body that keeps the pace for longer than a window, and waits for a handler that does not read", async () => {
      await listen({ bodyPace: PACE });
      const { socket, seen } = open();
      socket.write(POST);
      await expect.poll(() => waiting.length, WAIT).toBe(1);
      const [response] = waiting;
      let sent = 0;
      const timer = setInterval(() => {
        if (sent < 500) socket.write("x".repeat(10));
        sent += 10;
      }, 60);
      await expect.poll(() => sent, WAIT).toBeGreaterThan(250); // Not read so far: that is the server's time.
      let read = 0;
      response?.req.on("data", (part: Buffer) => (read += part.length)).on("end", () => response.end(`read ${read}`));
      await expect.poll(() => seen.text, WAIT).toContain("read 500");
      clearInterval(timer);
    });
  });

  it.each([
    { what: "a request waits for its answer", answer: (): void => undefined, received: "" },
    { what: "an answer has begun", answer: (): void => void waiting[0]?.write("half"), received: "half" },
  ])("closes the connection without a refusal when $what", async ({ answer, received }) => {
    await listen();
    const { socket, seen } = open();
    socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(1);
    answer();
    await expect.poll(() => seen.text, WAIT).toContain(received);
    socket.write("garbage\r\n\r\n");
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(seen.text).not.toContain("refused");
  });

  it.each([
    { path: "/wanted", expectation: "100-continue", text: "HTTP/1.1 100 Continue\r\n\r\n" },
    { path: "/unwanted", expectation: "100-continue", text: "" },
    { path: "/wanted", expectation: "wonders", text: "" },
  ])("handles $path with the expectation $expectation", async ({ path, expectation, text }) => {
    await listen();
    const { socket, seen } = open();
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: ${expectation}\r\nContent-Length: 3\r\n\r\n`);
    await expect.poll(() => waiting.length, WAIT).toBe(1);
    waiting[0]?.end();
    await expect.poll(() => seen.text, WAIT).toMatch(new RegExp(`^${text}HTTP/1\\.1 200 OK`));
  });

  it("drain() waits for running requests, and closes their connections after the answer", async () => {
    await listen();
    const [idle, quiet, begun] = [open(), open(), open()];
    idle.socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(1);
    waiting[0]?.end();
    quiet.socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(2);
    begun.socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(3);
    waiting[2]?.write("half");
    let isDrained = false;
    const drained = listener.drain().then(() => (isDrained = true));
    await expect.poll(() => idle.seen.isClosed, WAIT).toBe(true);
    expect([isDrained, quiet.seen.isClosed, begun.seen.isClosed]).toEqual([false, false, false]);
    waiting[1]?.end();
    waiting[2]?.end();
    await drained;
    expect(quiet.seen.text).toContain("Connection: close");
    expect(begun.seen.text).toContain("half");
  });

  it("stop() closes connections with running requests after the grace period", async () => {
    await listen({ stopGraceMs: 100 });
    const { socket, seen } = open();
    socket.write(REQUEST);
    await expect.poll(() => waiting.length, WAIT).toBe(1);
    await listener.stop();
    await expect.poll(() => seen.isClosed, WAIT).toBe(true);
    expect(seen.text).toBe("");
  });
});
