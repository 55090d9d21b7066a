// HTTP clients that send wrong bytes, too many or too slowly: each gets a clear answer, and other
// clients are served.
import { connect, type Socket } from "node:net";

import { silentLog } from "@weir/common/log/log";
import { afterEach, describe, expect, it } from "vitest";

import { Health } from "../../health/health.ts";
import type { Transport } from "../transport.ts";
import { NO_TRACING, PLAIN_OK, ScriptedDecider } from "../transport.suite.ts";
import { JsonTransport, type JsonTransportOptions } from "./json-transport.ts";

const BODY = '{"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]}';
const GOOD = `POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const GOOD_ANSWER = '{"overallCode":"OK","statuses":[{"code":"OK"}]}';

/** Longest wait for an answer, in milliseconds. */
const ANSWER = { timeout: 60_000, interval: 5 };

/**
 * Short enough for a test to wait for, and so long that no whole request comes too late on a busy
 * machine.
 */
const SHORT_TIMEOUTS = { headersMs: 1000, requestMs: 2000, checkIntervalMs: 50 };

let transport: Transport;
let decider: ScriptedDecider;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await transport.stop();
});

async function start(timeouts?: JsonTransportOptions["timeouts"]): Promise<void> {
  decider = new ScriptedDecider();
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const options = { host: "127.0.0.1", port: 0, ...(timeouts !== undefined && { timeouts }) };
  transport = new JsonTransport({ decider, tracing: NO_TRACING, health, log: silentLog() }, options);
  await transport.start();
}

/** A connection on which bytes are written as they are. */
function open(): { readonly socket: Socket; readonly seen: { text: string; isClosed: boolean } } {
  const socket = connect(Number(transport.address()?.split(":")[1]), "127.0.0.1");
  sockets.push(socket);
  const seen = { text: "", isClosed: false };
  socket.on("data", (chunk: Buffer) => (seen.text += chunk.toString("latin1")));
  socket.on("close", () => (seen.isClosed = true));
  socket.on("error", () => undefined); // "close" follows.
  return { socket, seen };
}

/** Status and body of the answer to bytes, after which the server closes. */
async function refusalOf(bytes: string | Buffer): Promise<string> {
  const { socket, seen } = open();
  socket.write(bytes);
  await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
  const [head = "", body = ""] = seen.text.split("\r\n\r\n");
  expect(head).toContain("Connection: close");
  return `${head.split("\r\n")[0]?.slice(9) ?? ""} ${body}`;
}

async function assertOthersAreServed(): Promise<void> {
  const { socket, seen } = open();
  socket.write(GOOD);
  await expect.poll(() => seen.text, ANSWER).toContain(GOOD_ANSWER);
}

describe("the HTTP listener and broken requests", () => {
  it.each([
    [
      "bytes of another protocol",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      '400 Bad Request {"code":"INVALID_ARGUMENT","message":"the bytes are no HTTP/1.1 request"}',
    ],
    [
      "a TLS handshake",
      Buffer.from("160301020001000", "hex"),
      '400 Bad Request {"code":"INVALID_ARGUMENT","message":"the bytes are no HTTP/1.1 request"}',
    ],
    [
      "two lengths",
      "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      '400 Bad Request {"code":"INVALID_ARGUMENT","message":"the bytes are no HTTP/1.1 request"}',
    ],
    [
      "a length and chunks",
      "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      '400 Bad Request {"code":"INVALID_ARGUMENT","message":"the bytes are no HTTP/1.1 request"}',
    ],
    ["a chunk without a size", "POST /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", undefined],
    ["no Host", "GET /json HTTP/1.1\r\n\r\n", undefined],
    [
      "a header that is too long",
      `GET /json HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(17 * 1024)}\r\n\r\n`,
      '431 Request Header Fields Too Large {"code":"RESOURCE_EXHAUSTED","message":"the header of the request must not be longer than 16 KiB"}',
    ],
    [
      "a path that is too long",
      `GET /${"x".repeat(17 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      '431 Request Header Fields Too Large {"code":"RESOURCE_EXHAUSTED","message":"the header of the request must not be longer than 16 KiB"}',
    ],
  ])("%s is refused, and others are served", async (_what, bytes, refusal) => {
    await start();
    if (refusal === undefined) {
      const { socket, seen } = open();
      socket.write(bytes);
      await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
    } else expect(await refusalOf(bytes)).toBe(refusal);
    await assertOthersAreServed();
    expect(decider.calls).toHaveLength(1);
  });

  it("a header that does not come to its end is given up", async () => {
    await start(SHORT_TIMEOUTS);
    expect(await refusalOf("GET /json HTTP/1.1\r\nHost: x\r\nX-Slow:")).toBe(
      '408 Request Timeout {"code":"DEADLINE_EXCEEDED","message":"the request did not come in time"}',
    );
    await assertOthersAreServed();
  });

  it("a body that does not come to its end is given up", async () => {
    await start(SHORT_TIMEOUTS);
    const { socket, seen } = open();
    socket.write("POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
    await assertOthersAreServed();
    expect(decider.calls).toHaveLength(1);
  });
});

describe("the HTTP listener and odd requests", () => {
  it("requests that come without waiting for answers are answered in their order", async () => {
    await start();
    const { socket, seen } = open();
    socket.write(`${GOOD}GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n${GOOD}GET /x HTTP/1.1\r\nHost: x\r\n\r\n`);
    const statuses = (): readonly string[] =>
      [...seen.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = ""]) => status);
    await expect.poll(statuses, ANSWER).toEqual(["200", "500", "200", "404"]);
  });

  it("a client that sends any number of requests without waiting for answers loses its connection", async () => {
    await start();
    decider.answer = undefined;
    const { socket, seen } = open();
    socket.write(GOOD.repeat(257));
    await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
    decider.answer = PLAIN_OK;
    await assertOthersAreServed();
    expect(decider.calls.length).toBeLessThanOrEqual(257);
  });

  it("garbage behind a request that is being decided is not answered in its place", async () => {
    await start();
    decider.answer = undefined;
    const { socket, seen } = open();
    socket.write(`${GOOD}garbage\r\n\r\n`);
    await decider.arrived(1);
    await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
    expect(seen.text).toBe("");
    decider.calls[0]?.call.decided(PLAIN_OK);
    decider.answer = PLAIN_OK;
    await assertOthersAreServed();
  });

  it("a body in chunks is taken together", async () => {
    await start();
    const { socket, seen } = open();
    const chunks = [BODY.slice(0, 7), BODY.slice(7)]
      .map((piece) => `${piece.length.toString(16)};x=y\r\n${piece}\r\n`)
      .join("");
    socket.write(`POST /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    await expect.poll(() => seen.text, ANSWER).toContain(GOOD_ANSWER);
  });

  it("Expect: 100-continue gets 100 Continue, unless the body would be refused", async () => {
    await start();
    const patient = open();
    patient.socket.write(
      `POST /json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`,
    );
    await expect.poll(() => patient.seen.text, ANSWER).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    patient.socket.write(BODY);
    await expect.poll(() => patient.seen.text, ANSWER).toContain(GOOD_ANSWER);
    expect(
      await refusalOf("POST /json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1048577\r\n\r\n"),
    ).toBe(
      '413 Payload Too Large {"code":"RESOURCE_EXHAUSTED","message":"the body must not be longer than 1048576 bytes"}',
    );
  });

  it.each(["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])(
    "%s with a body is decided, as in envoyproxy/ratelimit (case 170)",
    async (method) => {
      await start();
      const { socket, seen } = open();
      socket.write(GOOD.replace("POST", method));
      await expect.poll(() => seen.text, ANSWER).toContain(GOOD_ANSWER);
    },
  );

  it("HEAD is answered without a body", async () => {
    await start();
    const { socket, seen } = open();
    socket.write(`${GOOD.replace("POST", "HEAD")}HEAD /healthcheck HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await expect.poll(() => seen.isClosed, ANSWER).toBe(true);
    expect([...seen.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "500"]);
    expect(seen.text).not.toContain("overallCode");
  });

  it("unfinished bodies are taken up to 64 MiB in all, and again when others have ended", async () => {
    await start();
    const megabyte = `POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n${"x".repeat(1_048_575)}`;
    const slow = Array.from({ length: 63 }, () => open());
    for (const { socket } of slow) await new Promise((resolve) => socket.write(megabyte, resolve));
    await assertOthersAreServed();
    const refused = Array.from({ length: 4 }, () => open());
    for (const { socket } of refused) socket.write(megabyte);
    const answers = (): readonly string[] => refused.map(({ seen }) => seen.text).filter((text) => text !== "");
    await expect.poll(() => answers().length, ANSWER).toBeGreaterThanOrEqual(1);
    expect(answers()[0]).toMatch(
      /^HTTP\/1\.1 503 [^]*\{"code":"RESOURCE_EXHAUSTED","message":"the bodies of too many requests are on their way"\}$/,
    );
    for (const { socket } of slow) socket.destroy();
    await assertOthersAreServed();
    const { socket, seen } = open();
    socket.write(`${megabyte}x`);
    await expect.poll(() => seen.text, ANSWER).toContain("400 Bad Request");
  });

  it("other requests are served during a thousand bodies beyond the limit", async () => {
    await start();
    const flood = Array.from({ length: 1000 }, () => {
      const { socket, seen } = open();
      socket.write("POST /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      socket.write(`10000\r\n${"x".repeat(65_536)}\r\n`);
      return { socket, seen };
    });
    await assertOthersAreServed();
    for (const { socket } of flood.slice(0, 100))
      for (let chunk = 0; chunk < 17; chunk++) socket.write(`10000\r\n${"x".repeat(65_536)}\r\n`);
    await expect
      .poll(
        () => flood.slice(0, 20).every(({ seen }) => seen.text.startsWith("HTTP/1.1 413 ") || seen.isClosed),
        ANSWER,
      )
      .toBe(true);
    await assertOthersAreServed();
  });
});
