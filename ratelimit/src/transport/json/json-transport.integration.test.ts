import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";

import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { silentLog } from "@weir/common/log/log";
import {
  RateLimitRequestSchema,
  RateLimitResponseSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { afterEach, describe, expect, it } from "vitest";

import { DecideError, type Decider } from "../../decide/decider.ts";
import { Health } from "../../health/health.ts";
import type { Transport } from "../transport.ts";
import { describeTransport, NO_TRACING, PLAIN_OK, ScriptedDecider, type TransportAnswer } from "../transport.suite.ts";
import { JsonTransport } from "./json-transport.ts";

async function open(decider: Decider): Promise<{ transport: Transport; health: Health; url: string }> {
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const transport = new JsonTransport(
    { decider, tracing: NO_TRACING, health, log: silentLog() },
    { host: "127.0.0.1", port: 0 },
  );
  await transport.start();
  return { transport, health, url: `http://${transport.address() ?? ""}` };
}

async function answerOf(response: Response): Promise<TransportAnswer> {
  const text = await response.text();
  if (response.status === 200 || response.status === 429)
    return { kind: "decision", response: fromJsonString(RateLimitResponseSchema, text) };
  const { code, message } = JSON.parse(text) as { code: never; message: string };
  return { kind: "refused", status: code, message };
}

describeTransport("/json", async (decider) => {
  const { transport, url } = await open(decider);
  return {
    transport,
    async ask(request) {
      const body = toJsonString(RateLimitRequestSchema, create(RateLimitRequestSchema, request));
      try {
        return await answerOf(await fetch(`${url}/json`, { method: "POST", body }));
      } catch {
        return { kind: "broken" };
      }
    },
    close: () => undefined,
  };
});

describe("JsonTransport", () => {
  let transport: Transport | undefined;
  afterEach(async () => {
    await transport?.stop();
    transport = undefined;
  });

  async function start(decider: Decider = new ScriptedDecider()): Promise<{ url: string; health: Health }> {
    const opened = await open(decider);
    transport = opened.transport;
    return opened;
  }

  const BODY = '{"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]}';

  it("/json answers 200 with exactly the fields that are not zero when within limits (cases 170, 172)", async () => {
    const decider = new ScriptedDecider();
    const { url } = await start(decider);
    const response = await fetch(`${url}/json`, { method: "POST", body: BODY });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe('{"overallCode":"OK","statuses":[{"code":"OK"}]}');
  });

  it("/json answers 429 with the decision when over a limit (case 170)", async () => {
    const decider = new ScriptedDecider();
    decider.answer = {
      ...PLAIN_OK,
      overallCode: 2,
      statuses: [
        {
          code: 2,
          currentLimit: { requestsPerUnit: 1, unit: 2, name: "" },
          limitRemaining: 0,
          durationUntilResetSeconds: 35,
        },
      ],
      headers: [{ key: "RateLimit-Limit", value: "1" }],
    };
    const { url } = await start(decider);
    const response = await fetch(`${url}/json`, { method: "POST", body: BODY });
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({
      overallCode: "OVER_LIMIT",
      statuses: [
        { code: "OVER_LIMIT", currentLimit: { requestsPerUnit: 1, unit: "MINUTE" }, durationUntilReset: "35s" },
      ],
      responseHeadersToAdd: [{ key: "RateLimit-Limit", value: "1" }],
    });
  });

  it("/json shows an unlimited rule as the largest number (case 172)", async () => {
    const decider = new ScriptedDecider();
    decider.answer = {
      ...PLAIN_OK,
      statuses: [
        { code: 1, currentLimit: undefined, limitRemaining: 4294967295, durationUntilResetSeconds: undefined },
      ],
    };
    const { url } = await start(decider);
    const response = await fetch(`${url}/json`, { method: "POST", body: BODY });
    expect(await response.json()).toEqual({
      overallCode: "OK",
      statuses: [{ code: "OK", limitRemaining: 4294967295 }],
    });
  });

  it.each([
    ["REQUEST_INVALID", 400, '{"code":"INVALID_ARGUMENT","message":"m"}'],
    ["NO_CONFIG", 503, '{"code":"UNAVAILABLE","message":"m"}'],
    ["STORE_UNAVAILABLE", 503, '{"code":"UNAVAILABLE","message":"m"}'],
    ["DEADLINE_EXCEEDED", 503, '{"code":"DEADLINE_EXCEEDED","message":"m"}'],
    ["INTERNAL", 500, '{"code":"INTERNAL","message":"m"}'],
  ] as const)("/json answers a call that failed with %s with status %i", async (code, status, body) => {
    const decider = new ScriptedDecider();
    decider.answer = new DecideError(code, "m");
    const { url } = await start(decider);
    const response = await fetch(`${url}/json`, { method: "POST", body: BODY });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(body);
  });

  it("/json answers 400 and names an unknown field of the body (case 171)", async () => {
    const decider = new ScriptedDecider();
    const { url } = await start(decider);
    const response = await fetch(`${url}/json`, { method: "POST", body: '{"domains":"d"}' });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining('"domains" is unknown'),
    });
    expect(decider.calls).toHaveLength(0);
  });

  it("/json ignores method and content type, as envoyproxy/ratelimit does", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/json?x=y`, {
      method: "PUT",
      body: BODY,
      headers: { "content-type": "text/plain" },
    });
    expect(response.status).toBe(200);
    expect((await fetch(`${url}/json`)).status).toBe(400);
  });

  it.each([
    ["announced", { "content-length": String(1024 * 1024 + 1) }],
    ["found out", { "transfer-encoding": "chunked" }],
  ])("/json answers 413 when a body over 1 MiB is %s, and closes the connection", async (_what, headers) => {
    const { url } = await start();
    const answer = await new Promise<{ status: number | undefined; connection: string | undefined; body: string }>(
      (resolve, reject) => {
        const request = httpRequest(`${url}/json`, { method: "POST", headers }, (response) => {
          let body = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => (body += chunk));
          response.on("end", () =>
            resolve({ status: response.statusCode, connection: response.headers.connection, body }),
          );
        });
        request.on("error", reject);
        request.write(Buffer.alloc(1024 * 1024 + 1, " "));
      },
    );
    expect(answer).toEqual({
      status: 413,
      connection: "close",
      body: '{"code":"RESOURCE_EXHAUSTED","message":"the body must not be longer than 1048576 bytes"}',
    });
  });

  it("/json takes a body of exactly 1 MiB", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/json`, { method: "POST", body: BODY.padEnd(1024 * 1024) });
    expect(response.status).toBe(200);
  });

  it("a client that closes in the middle of its body disturbs no other", async () => {
    const decider = new ScriptedDecider();
    const { url } = await start(decider);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n");
    await once(socket, "data"); // The server reads the body now.
    socket.write("{", () => socket.destroy());
    await once(socket, "close");
    expect((await fetch(`${url}/json`, { method: "POST", body: BODY })).status).toBe(200);
    expect(decider.calls).toHaveLength(1);
  });

  it("/healthcheck answers 500 without a body until healthy, then 200 with OK (cases 173, 177)", async () => {
    const { url, health } = await start();
    const before = await fetch(`${url}/healthcheck`);
    expect([before.status, await before.text()]).toEqual([500, ""]);
    health.set("start", true);
    const healthy = await fetch(`${url}/healthcheck`);
    expect([healthy.status, await healthy.text()]).toEqual([200, "OK"]);
    health.set("signal", false);
    expect((await fetch(`${url}/healthcheck`)).status).toBe(500);
  });

  it("other paths answer 404", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/jsonx`);
    expect([response.status, await response.text()]).toEqual([404, "404 page not found\n"]);
  });

  it("start() names the setting that moves it when the port is in use", async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);
    const health = new Health({ withConfig: false, withActiveConnection: false });
    const second = new JsonTransport(
      { decider: new ScriptedDecider(), tracing: NO_TRACING, health, log: silentLog() },
      { host: "127.0.0.1", port },
    );
    await expect(second.start()).rejects.toThrow(
      `Cannot listen for HTTP on 127.0.0.1:${port}: the port is in use; set PORT to another one`,
    );
  });
});
