// The answer and the log line of a handler that fails with an unexpected error.
import { createLog, silentLog } from "@weir/common/log/log";
import { HttpListener } from "@weir/common/net/http-listener";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AccountError } from "../errors.ts";
import type { KeyRing } from "../sessions/key-ring.ts";
import { type AppDeps, createApp } from "./app.ts";
import { brokenRequestAnswer } from "./broken-request.ts";
import { ACCOUNT_ROUTES } from "../api/routes.ts";

const LISTED = "http://localhost:5173";
const ORIGINS = { allowedOrigins: new Set([LISTED]), publicOrigin: () => "http://localhost", requireOrigin: false };

let lines: string[];
let failure: Error;
let server: HttpListener;

const FAILING = Object.fromEntries(
  Object.keys(ACCOUNT_ROUTES).map((name) => [name, () => Promise.reject(failure)]),
) as unknown as AppDeps["handlers"];

beforeEach(async () => {
  lines = [];
  const app = createApp(
    {
      handlers: FAILING,
      hasMail: true,
      limitSession: (_request, _response, next) => next(),
      throttle: { decide: () => Promise.resolve({ isAllowed: true, headers: [] }) },
      accessKeys: () => ({ verifying: new Map() }) as unknown as KeyRing,
      media: undefined,
      page: undefined,
      health: { isReady: () => Promise.resolve(false), isDraining: () => false },
      log: createLog({ level: "info", format: "json", write: (line) => lines.push(line) }),
      tracing: { tracer: undefined, extract: undefined, inject: undefined, stop: () => Promise.resolve() },
      onAnswered: () => undefined,
    },
    {
      cookies: { scope: "host", sameSite: "strict", insecureDevelopment: false },
      origins: ORIGINS,
      trustProxy: false,
    },
  );
  server = new HttpListener(
    { log: silentLog() },
    { handle: app, refuse: (refusal, request) => brokenRequestAnswer(refusal, request, ORIGINS) },
    { host: "127.0.0.1", port: 0, setting: "PORT", what: "HTTP", connectionsMax: 10, stopGraceMs: 100 },
  );
  await server.start();
});

afterEach(() => server.stop());

function currentUser(): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.address()?.port ?? 0}/api/v1/user/current-user`, {
    headers: { Origin: LISTED },
  });
}

describe("an unexpected error", () => {
  it("becomes a 500 without details, and one log line without credentials", async () => {
    failure = new Error("cannot reach mongodb://user:pa55word@host", { cause: new Error("redis://u2:pa55word2@host") });
    const answer = await currentUser();
    const body = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, body["code"], body["message"]]).toEqual([
      500,
      "internal",
      "Something went wrong in the service. Try again later.",
    ]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(String(body["requestId"]));
    expect(lines[0]).toContain("mongodb://[redacted]@host");
    expect(JSON.stringify(body) + lines.join("")).not.toContain("pa55word");
  });

  it("of a store that is down keeps the cookies, says when to retry, and can be read by the front end", async () => {
    failure = new AccountError("database_unavailable", "Try again.", { retryAfterSeconds: 2 });
    const answer = await currentUser();
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("set-cookie")]).toEqual([
      503,
      "2",
      null,
    ]);
    expect(answer.headers.get("access-control-allow-origin")).toBe(LISTED);
  });

  it("readiness is 503 with a message", async () => {
    const answer = await fetch(`http://127.0.0.1:${server.address()?.port ?? 0}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { status: "not ready", message: "The service is not ready." },
    ]);
  });
});
