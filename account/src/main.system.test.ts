// The program as an operator runs it: a process with an environment, signals, and a sudden end.
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@weir/testing/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import { metricsOf, type Program, Programs, ready } from "./program.suite.ts";
import { formBody } from "./running-service.suite.ts";

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.stop());

function run(env: Readonly<Record<string, string>>): Program {
  return programs.start(env);
}

function register(url: string, email: string): Promise<Response> {
  const body = formBody([
    { name: "email", value: email },
    { name: "password", value: "correct horse battery" },
    { name: "avatar", value: png(), fileName: "a.png" },
  ]);
  const headers = { "Content-Type": "multipart/form-data; boundary=WeirTestBoundary" };
  return fetch(`${url}/api/v1/user/register`, { method: "POST", headers, body: new Uint8Array(body) });
}

function login(url: string, email: string): Promise<Response> {
  const body = JSON.stringify({ email, password: "correct horse battery" });
  return fetch(`${url}/api/v1/user/login`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

const PRODUCTION = {
  NODE_ENV: "production",
  BCRYPT_COST: "10",
  ALLOW_EMBEDDED: "true",
  PUBLIC_ORIGIN: "https://account.example.com",
  HOST: "127.0.0.1",
  METRICS_HOST: "127.0.0.1",
  ACCESS_TOKEN_SECRET: "rT7-long-enough-access-value-0123456789",
  REFRESH_TOKEN_SECRET: "zQ9-long-enough-refresh-value-987654321",
};

describe("weir-account", () => {
  it("keeps every account it confirmed, and its sessions, when it is killed in the middle of registrations", async () => {
    const first = run({});
    const url = await ready(first);
    const confirmed: string[] = [];
    const registerOn = async (worker: number): Promise<void> => {
      for (let count = 0; ; count++) {
        const email = `user-${worker}-${count}@x.com`;
        try {
          if ((await register(url, email)).status === 201) confirmed.push(email);
        } catch {
          return; // Killed: what was not confirmed may be missing.
        }
      }
    };
    await register(url, "session@x.com");
    const cookie = (await login(url, "session@x.com")).headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const workers = [0, 1, 2, 3].map(registerOn);
    await eventually("twenty registrations", () => expect(confirmed.length).toBeGreaterThanOrEqual(20));
    first.child.kill("SIGKILL");
    await Promise.all(workers);
    const again = await ready(run({}));
    for (const email of confirmed) expect((await login(again, email)).status).toBe(200);
    const me = await fetch(`${again}/api/v1/user/current-user`, { headers: { Cookie: cookie } });
    expect(me.status).toBe(200);
  });

  it("finishes what runs at SIGTERM, refuses the rest, and exits with 0", async () => {
    const program = run({ BCRYPT_COST: "10", BCRYPT_CONCURRENCY: "1", SHUTDOWN_DRAIN: "8s", SHUTDOWN_GRACE: "60s" });
    const url = await ready(program);
    // Few enough that none of them waits for its hash longer than one may, on a busy machine
    // either.
    const running = Array.from({ length: 6 }, (_, index) => register(url, `user-${index}@x.com`));
    while (!/^bcrypt_queue_depth [1-9]/m.test(await text(metricsOf(program)))) await sleep(5);
    program.child.kill("SIGTERM");
    // Within the drain; the signal may arrive after the next question.
    while ((await fetch(`${url}/readyz`)).status !== 503) await sleep(5);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201));
    // Below the grace period: kept connections that are quiet must not hold the stop up.
    expect(await Promise.race([program.exited, sleep(40_000, "still running")])).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it("starts in production with real secrets", async () => {
    const program = run(PRODUCTION);
    await ready(program);
    expect(program.output()).not.toContain("Not fit for production");
  });

  it.each([
    {
      name: "one secret for both tokens",
      env: { REFRESH_TOKEN_SECRET: PRODUCTION.ACCESS_TOKEN_SECRET },
      setting: "REFRESH_TOKEN_SECRET",
      value: PRODUCTION.ACCESS_TOKEN_SECRET,
    },
    {
      name: "a short secret",
      env: { ACCESS_TOKEN_SECRET: "Xy3!hq8Z" },
      setting: "ACCESS_TOKEN_SECRET",
      value: "Xy3!hq8Z",
    },
    {
      name: "a placeholder",
      env: { ACCESS_TOKEN_SECRET: "changeme" },
      setting: "ACCESS_TOKEN_SECRET",
      value: "changeme",
    },
    {
      name: "local avatars without PUBLIC_ORIGIN",
      env: { PUBLIC_ORIGIN: "" },
      setting: "PUBLIC_ORIGIN",
      value: undefined,
    },
    { name: "the embedded store", env: { ALLOW_EMBEDDED: "" }, setting: "STORE", value: undefined },
    {
      name: "insecure cookies",
      env: { COOKIE_INSECURE_DEV: "true" },
      setting: "COOKIE_INSECURE_DEV",
      value: undefined,
    },
    { name: "every origin", env: { CORS_ORIGINS: "*" }, setting: "CORS_ORIGINS", value: undefined },
    { name: "every proxy", env: { TRUST_PROXY: "true" }, setting: "TRUST_PROXY", value: undefined },
  ])("does not start in production with $name", async ({ env, setting, value }) => {
    const program = run({ ...PRODUCTION, ...env });
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(new RegExp(`^  ${setting}(=| is not set)`, "m"));
    if (value !== undefined) expect(program.output()).not.toContain(value);
  });

  it("warns of variables without effect", async () => {
    const program = run({ AVATAR_MAX_BYTE: "1", MONGODB_URI: "mongodb://u:pa55word@h" });
    await ready(program);
    expect(program.output()).toContain('name=AVATAR_MAX_BYTE reason="unknown setting; is AVATAR_MAX_BYTES meant?"');
    expect(program.output()).toContain('name=MONGODB_URI reason="it belongs to STORE=mongo, and STORE is embedded"');
    expect(program.output()).not.toContain("pa55word");
  });

  it("names a port in use and the setting that moves it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const program = run({ PORT: String(port) });
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(
      `Cannot listen for HTTP on 127.0.0.1:${port}: the port is in use; set PORT to another one`,
    );
    other.close();
  });

  it("names a data directory it cannot have", async () => {
    const file = join(programs.folder, "file");
    writeFileSync(file, "");
    const program = run({ DATA_DIR: join(file, "data") });
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(`Cannot use DATA_DIR ${join(file, "data")}`);
  });

  it("ends when it cannot create its data directory", async () => {
    const program = run({ DATA_DIR: "/proc/weir/data" });
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(
      "Cannot use DATA_DIR /proc/weir/data: Cannot make the folder /proc/weir: no folder can be made in /proc",
    );
  });

  it("keeps the secrets it makes for its owner only", async () => {
    await ready(run({}));
    expect(statSync(join(programs.folder, "token-secrets.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(programs.folder, "accounts.sqlite")).mode & 0o777).toBe(0o600);
  });
});

async function text(url: string): Promise<string> {
  return (await fetch(url)).text();
}
