// Bodies of logins that are no login, against the real service.
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type RunningService, startService, USER } from "../running-service.suite.ts";

let service: RunningService;

beforeEach(async () => {
  service = await startService();
  await service.register();
});

afterEach(() => service.stop());

function send(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return service.call({
    method: "POST",
    path: "/api/v1/user/login",
    headers: { "Content-Type": "application/json", ...headers },
    body,
  });
}

const JSON_BODY = JSON.stringify(USER);

describe("login", () => {
  it.each([
    { name: "half an object", body: '{"email":"a@x.com"', headers: {}, status: 400, code: "malformed_json" },
    { name: "a text", body: '"str"', headers: {}, status: 400, code: "malformed_json" },
    { name: "a list", body: "[1]", headers: {}, status: 400, code: "malformed_json" },
    { name: "nothing", body: "", headers: {}, status: 400, code: "validation_failed" },
    { name: "a byte order mark", body: `\ufeff${JSON_BODY}`, headers: {}, status: 200, code: undefined },
    {
      name: "latin1",
      body: JSON_BODY,
      headers: { "Content-Type": "application/json; charset=latin1" },
      status: 415,
      code: "unsupported_media_type",
    },
    {
      name: "5 MB of zeros in gzip",
      body: gzipSync(Buffer.alloc(5_000_000)),
      headers: { "Content-Encoding": "gzip" },
      status: 413,
      code: "body_too_large",
    },
    {
      name: "gzip that is none",
      body: "not gzip",
      headers: { "Content-Encoding": "gzip" },
      status: 400,
      code: "malformed_json",
    },
    {
      name: "an unknown encoding",
      body: JSON_BODY,
      headers: { "Content-Encoding": "zip" },
      status: 415,
      code: "unsupported_media_type",
    },
    { name: "gzip", body: gzipSync(JSON_BODY), headers: { "Content-Encoding": "gzip" }, status: 200, code: undefined },
    { name: "8000 open brackets", body: "[".repeat(8000), headers: {}, status: 400, code: "malformed_json" },
    {
      name: "8000 nested lists",
      body: "[".repeat(8000) + "]".repeat(8000),
      headers: {},
      status: 400,
      code: "malformed_json",
    },
    {
      name: "no Content-Type",
      body: JSON_BODY,
      headers: { "Content-Type": "" },
      status: 415,
      code: "unsupported_media_type",
    },
    {
      name: "a type that only begins alike",
      body: JSON_BODY,
      headers: { "Content-Type": "application/jsonp" },
      status: 415,
      code: "unsupported_media_type",
    },
    {
      name: "17 KB",
      body: JSON.stringify({ ...USER, x: "y".repeat(17_000) }),
      headers: {},
      status: 413,
      code: "body_too_large",
    },
    {
      name: "operators",
      body: '{"email":{"$gt":""},"password":{"$ne":null}}',
      headers: {},
      status: 400,
      code: "validation_failed",
    },
    {
      name: "a field twice",
      body: '{"email":"a@x.com","email":{"$ne":1},"password":"p"}',
      headers: {},
      status: 400,
      code: "validation_failed",
    },
    {
      name: "code",
      body: '{"email":{"$where":"sleep(5000)"},"password":"p"}',
      headers: {},
      status: 400,
      code: "validation_failed",
    },
    {
      name: "a prototype",
      body: `{"__proto__":{"isAdmin":true},${JSON_BODY.slice(1)}`,
      headers: {},
      status: 200,
      code: undefined,
    },
  ])("answers $status for $name", async ({ body, headers, status, code }) => {
    const answer = await send(body, headers);
    expect([answer.status, answer.json["code"]]).toEqual([status, code]);
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });

  it("refuses a password that only begins like one of 72 bytes", async () => {
    const long = { email: "long@x.com", password: "abdefgjkm".repeat(8) };
    expect((await service.register(long)).status).toBe(201);
    expect((await service.login(long)).status).toBe(200);
    expect((await service.login({ ...long, password: `${long.password}X` })).json["code"]).toBe("invalid_credentials");
  });

  it("takes the password in both ways of writing an accent", async () => {
    const [composed, decomposed] = ["caf\u00e9 cr\u00e8me", "cafe\u0301 cre\u0300me"];
    await service.register({ email: "one@x.com", password: composed });
    await service.register({ email: "two@x.com", password: decomposed });
    for (const email of ["one@x.com", "two@x.com"])
      for (const password of [composed, decomposed])
        expect((await service.login({ email, password })).status).toBe(200);
  });

  it("knows an address in every spelling", async () => {
    expect((await service.login({ ...USER, email: "A@X.COM" })).status).toBe(200);
    await service.register({ ...USER, email: "a@bücher.example" });
    expect((await service.register({ ...USER, email: "a@xn--bcher-kva.example" })).status).toBe(409);
    expect((await service.login({ ...USER, email: "a@xn--bcher-kva.example" })).status).toBe(200);
  });

  it("does not answer sooner for an unknown address, nor for one with a hash from before the cost was raised", async () => {
    await service.register({ ...USER, email: "old@x.com" });
    await service.restart({ BCRYPT_COST: "9" });
    await service.login(); // Renews the hash at the new cost.
    const costs = { known: [] as number[], old: [] as number[], unknown: [] as number[] };
    for (let round = 0; round < 15; round++) {
      costs.known.push(await costOf({ ...USER, password: "wrong" }));
      costs.old.push(await costOf({ email: "old@x.com", password: "wrong" }));
      costs.unknown.push(await costOf({ ...USER, email: "unknown@x.com" }));
    }
    for (const kind of ["old", "unknown"] as const) {
      const ratio = Math.min(...costs[kind]) / Math.min(...costs.known);
      // Without the dummy hash, and without padding, the ratio is about 0.1.
      expect([kind, ratio > 0.6 && ratio < 1.6, ratio]).toEqual([kind, true, ratio]);
    }
  });

  it("logs neither what was sent nor what was answered", async () => {
    await send('{"email":"admin@x.com\\r\\nBcc: v@x.com","password":"SuperSecretInput"}');
    const answer = await service.login();
    await service.login({ ...USER, password: "WrongSecretInput" });
    const log = service.logLines.join("");
    for (const secret of [
      "a@x.com",
      "admin@x.com",
      USER.password,
      "SecretInput",
      "$2b$",
      "accessToken=",
      answer.setCookies[0]?.slice(21, 60) ?? "?",
    ]) {
      expect(log).not.toContain(secret);
    }
    expect(service.logLines.every((line) => typeof JSON.parse(line) === "object")).toBe(true);
    expect(log).toContain("Login accepted");
    expect(log).toContain("Login refused");
  });
});

/**
 * Time of the processor that a login takes, in microseconds: of that others on a busy machine can
 * take nothing away.
 */
async function costOf(body: unknown): Promise<number> {
  const before = process.cpuUsage();
  await service.login(body);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
