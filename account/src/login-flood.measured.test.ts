// Floods of logins against the program with the default cost and no limits at all: whom they delay. The
// load comes from another process than the service, and both share the machine.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { eventually } from "@weir/testing/eventually";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import { formBody, USER } from "./running-service.suite.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

const WRONG = { ...USER, password: "not the password" };

/** An answer, and the time until it was complete. */
interface Timed {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly cookies: readonly string[];
  readonly ms: number;
}

describe("logins without limits", () => {
  const folder = makeTemporaryFolder();
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let program: ReturnType<typeof spawn>;
  let origin = "";

  beforeAll(async () => {
    program = spawn(process.execPath, ["--conditions=source", MAIN], {
      env: {
        PATH: String(process.env["PATH"]),
        PORT: "0",
        METRICS_PORT: "0",
        DATA_DIR: folder.path,
        RATE_LIMIT_FAILURE: "open",
        TRUST_PROXY: "1",
        LOG_FORMAT: "json",
        SHUTDOWN_DRAIN: "0s",
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    program.stderr?.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(0, 100_000)));
    origin = await eventually("the program to be ready", () => {
      const url = /Account service ready[^\n]*"url":"([^"]+)"/.exec(output)?.[1];
      if (url === undefined) throw new Error(output);
      return url;
    });
    const parts = Object.entries(USER).map(([name, value]) => ({ name, value }));
    const body = formBody([...parts, { name: "avatar", value: png(), fileName: "a.png" }]);
    const type = { "Content-Type": "multipart/form-data; boundary=WeirTestBoundary" };
    expect((await call("POST", "register", type, body)).status).toBe(201);
  });

  afterAll(async () => {
    agent.destroy();
    program.kill("SIGKILL");
    await once(program, "close");
    folder.remove();
  });

  it("let another address log in within 2 s, while one sends 200 wrong passwords a second", async () => {
    const flood: Promise<Timed>[] = [];
    const timer = setInterval(() => {
      for (let login = 0; login < 10; login++) flood.push(logIn(WRONG, "203.0.113.7"));
    }, 50);
    await sleep(1000); // The queue has filled.
    const logins: Timed[] = [];
    const endMs = performance.now() + 15_000;
    while (performance.now() < endMs) logins.push(await logIn(USER, "198.51.100.1"));
    clearInterval(timer);
    const answers = await Promise.all(flood);
    expect(answers.length).toBeGreaterThan(2000);
    expect(countsOf(answers)).toEqual({ 401: expect.any(Number) as number, 503: expect.any(Number) as number });
    expect(countsOf(logins)).toEqual({ 200: logins.length });
    expect(logins.length).toBeGreaterThanOrEqual(8);
    expect(percentile(logins, 0.99)).toBeLessThanOrEqual(2000);
  });

  it("leave the current user fast while 200 arrive together, and refuse what would wait too long as busy", async () => {
    const { cookies } = await logIn(USER, "198.51.100.1");
    const session = cookies.map((cookie) => cookie.slice(0, cookie.indexOf(";"))).join("; ");
    let isOver = false;
    const logins = Promise.all(Array.from({ length: 200 }, (_, from) => logIn(WRONG, `198.51.100.${from}`))).finally(
      () => {
        isOver = true;
      },
    );
    const others: Timed[] = [];
    while (!isOver) {
      others.push(await call("GET", "current-user", { Cookie: session }));
      await sleep(2);
    }
    const answers = await logins;
    const { 401: refused = 0, 503: busy = 0, ...further } = countsOf(answers);
    expect(further).toEqual({}); // Above all no 500.
    expect(refused).toBeGreaterThanOrEqual(5);
    expect(busy).toBeGreaterThanOrEqual(100);
    expect(new Set(answers.filter(({ status }) => status === 503).map(({ retryAfter }) => retryAfter))).toEqual(
      new Set(["1"]),
    );
    expect(countsOf(others)).toEqual({ 200: others.length });
    expect(others.length).toBeGreaterThan(50);
    expect(percentile(others, 0.99)).toBeLessThan(50);
  });

  function logIn(credentials: object, from: string): Promise<Timed> {
    const headers = { "Content-Type": "application/json", "X-Forwarded-For": from };
    return call("POST", "login", headers, Buffer.from(JSON.stringify(credentials)));
  }

  /** Floods open a connection per call, as independent clients do; the current user keeps one. */
  function call(
    method: "GET" | "POST",
    name: string,
    headers: Readonly<Record<string, string>>,
    body?: Buffer,
  ): Promise<Timed> {
    const startedMs = performance.now();
    const url = `${origin}/api/v1/user/${name}`;
    const length = body === undefined ? {} : { "Content-Length": body.length };
    return new Promise((resolve, reject) => {
      const options = { method, headers: { ...headers, ...length }, agent: method === "GET" ? agent : false };
      const request = httpRequest(url, options, (response) => {
        response.resume().on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            retryAfter: response.headers["retry-after"],
            cookies: response.headers["set-cookie"] ?? [],
            ms: performance.now() - startedMs,
          }),
        );
      });
      request.on("error", reject).end(body);
    });
  }
});

function countsOf(answers: readonly Timed[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function percentile(answers: readonly Timed[], ratio: number): number {
  const sorted = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * ratio) - 1] ?? 0;
}
