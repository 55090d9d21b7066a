// The life of sessions over real HTTP, as browsers see it: what a refresh sets, how long cookies and
// sessions last, and what ends them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type Answer,
  cookieAttributes,
  cookieHeader,
  cookieValue,
  type RunningService,
  startService,
  USER,
} from "./running-service.suite.ts";

const DAY_MS = 86_400_000;

let service: RunningService;

beforeEach(async () => {
  service = await startService();
  await service.register();
});

afterEach(() => service.stop());

function currentUser(cookie: string): Promise<Answer> {
  return service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
}

function post(name: string, cookie: string): Promise<Answer> {
  return service.call({ method: "POST", path: `/api/v1/user/${name}`, headers: { Cookie: cookie } });
}

function refreshOf(header: string): string {
  return cookieValue(header, "__Host-refreshToken");
}

function outcome(answer: Answer): readonly unknown[] {
  return [answer.status, answer.json["code"]];
}

const CLEARED = [
  "__Host-accessToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
  "__Host-refreshToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
];

describe("refresh-token", () => {
  it("replaces both tokens, in cookies that scripts cannot read, and puts none in the body", async () => {
    const cookie = await service.session();
    service.advance(1000);
    const answer = await post("refresh-token", cookie);
    expect(answer.status).toBe(200);
    expect(cookieAttributes(answer)).toEqual([
      "__Host-accessToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
      "__Host-refreshToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
    ]);
    const next = cookieHeader(answer);
    expect(refreshOf(next)).not.toBe(refreshOf(cookie));
    expect(Object.keys(answer.json)).toEqual(["message", "accessTokenExpiresAt", "refreshTokenExpiresAt"]);
    for (const name of ["__Host-accessToken", "__Host-refreshToken"])
      expect(answer.text).not.toContain(cookieValue(next, name));
    expect((await currentUser(next)).status).toBe(200);
  });

  it("gives 20 calls at a time the same token, so that every tab stays logged in", async () => {
    const cookie = await service.session();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post("refresh-token", cookie)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(new Set(answers.map((answer) => refreshOf(cookieHeader(answer)))).size).toBe(1);
    for (const answer of answers) expect((await currentUser(cookieHeader(answer))).status).toBe(200);
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(metrics).toContain('refresh_total{result="rotated"} 1\n');
    expect(metrics).toContain('refresh_total{result="grace"} 19\n');
  });

  it("ends the session of a token that was replaced before the grace, clears the cookies, and ends no other", async () => {
    const [cookie, other] = [await service.session(), await service.session()];
    const next = cookieHeader(await post("refresh-token", cookie));
    service.advance(31_000);
    const reused = await post("refresh-token", cookie);
    expect(outcome(reused)).toEqual([401, "refresh_token_reused"]);
    expect(reused.setCookies).toEqual(CLEARED);
    expect(outcome(await post("refresh-token", next))).toEqual([401, "session_revoked"]);
    expect(outcome(await currentUser(next))).toEqual([401, "session_revoked"]);
    expect((await currentUser(other)).status).toBe(200);
    const line = service.logLines.find((entry) => entry.includes("Refresh token reused"));
    expect(JSON.parse(String(line))).toMatchObject({ addressPrefix: "127.0.0.1" });
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(metrics).toContain('refresh_total{result="reuse"} 1\n');
  });

  it("keeps the cookies that another tab has set meanwhile, by a change of the password or a login", async () => {
    const cookie = await service.session();
    const changed = await service.call({
      ...{ method: "POST", path: "/api/v1/user/change-password" },
      headers: { Cookie: cookie, "Content-Type": "application/json" },
      body: JSON.stringify({ password: USER.password, newPassword: "a better horse battery" }),
    });
    expect(changed.setCookies).toHaveLength(2);
    // Calls that a tab made before these cookies came are answered after them.
    const late = [await post("refresh-token", cookie), await post("refresh-token", "")];
    expect(late.map((answer) => [...outcome(answer), answer.setCookies])).toEqual([
      [401, "session_revoked", []],
      [401, "not_authenticated", []],
    ]);
  });

  it("keeps the cookies when the store does not answer", async () => {
    const cookie = await service.session();
    const database = new DatabaseSync(join(service.directory, "accounts.sqlite"));
    database.exec("ALTER TABLE users RENAME TO gone");
    const answer = await post("refresh-token", cookie);
    expect(outcome(answer)).toEqual([503, "database_unavailable"]);
    expect([answer.setCookies, answer.headers["retry-after"]]).toEqual([[], "2"]);
    database.exec("ALTER TABLE gone RENAME TO users");
    database.close();
    expect((await post("refresh-token", cookie)).status).toBe(200);
  });

  it("accepts the cookies of a replica whose clock is a minute ahead, and does not clear those of another time", async () => {
    const cookie = await service.session();
    service.advance(-60_000);
    expect((await currentUser(cookie)).status).toBe(200);
    expect((await post("refresh-token", cookie)).status).toBe(200);
    const next = await service.session();
    service.advance(-90_000);
    const early = await post("refresh-token", next);
    expect([...outcome(early), early.setCookies]).toEqual([401, "token_invalid", []]);
    service.advance(90_000);
    expect((await post("refresh-token", next)).status).toBe(200);
  });

  it("takes the grace from REFRESH_GRACE", async () => {
    await service.restart({ REFRESH_GRACE: "0s" });
    const cookie = await service.session();
    await post("refresh-token", cookie);
    expect(outcome(await post("refresh-token", cookie))).toEqual([401, "refresh_token_reused"]);
  });

  it("repeats the token when the signing key changed within the grace, and ends nothing when the old key goes", async () => {
    const path = join(service.directory, "keys.json");
    const key = (kid: string, use: string, state: string): unknown => ({
      kid,
      use,
      alg: "HS256",
      key: `${use}-secret-of-32-bytes-or-more-${kid}`,
      state,
    });
    const write = (...keys: readonly unknown[]): void => {
      writeFileSync(path, JSON.stringify([key("a", "access", "sign"), ...keys]));
    };
    write(key("one", "refresh", "sign"));
    await service.restart({ TOKEN_KEYS_FILE: path });
    const cookie = await service.session();
    const second = cookieHeader(await post("refresh-token", cookie));
    write(key("one", "refresh", "verify"), key("two", "refresh", "sign"));
    await service.restart({ TOKEN_KEYS_FILE: path });
    expect(refreshOf(cookieHeader(await post("refresh-token", cookie)))).toBe(refreshOf(second));
    const third = await post("refresh-token", second);
    write(key("two", "refresh", "sign"));
    await service.restart({ TOKEN_KEYS_FILE: path });
    expect((await post("refresh-token", cookieHeader(third))).status).toBe(200);
    expect(outcome(await post("refresh-token", second))).toEqual([401, "token_invalid"]);
  });

  it("with REFRESH_ROTATION=false sets a new access cookie only, and still moves the end of the session", async () => {
    await service.restart({ REFRESH_ROTATION: "false" });
    const cookie = await service.session();
    for (let day = 1; day <= 8; day++) {
      service.advance(DAY_MS);
      const answer = await post("refresh-token", cookie);
      expect(cookieAttributes(answer)).toEqual([
        `__Host-accessToken=…; Max-Age=${(30 - day) * 86_400}; Path=/; Secure; HttpOnly; SameSite=Strict`,
      ]);
    }
    service.advance(7 * DAY_MS);
    expect(outcome(await post("refresh-token", cookie))).toEqual([401, "session_revoked"]);
  });
});

describe("a session", () => {
  it("lasts 30 days of daily use, and then ends", async () => {
    let cookie = await service.session();
    for (let day = 1; day <= 29; day++) {
      service.advance(DAY_MS);
      expect(outcome(await currentUser(cookie))).toEqual([401, "token_expired"]);
      const answer = await post("refresh-token", cookie);
      expect(answer.status).toBe(200);
      const maxAge = Math.min(7, 30 - day) * 86_400;
      expect(cookieAttributes(answer)).toEqual([
        `__Host-accessToken=…; Max-Age=${maxAge}; Path=/; Secure; HttpOnly; SameSite=Strict`,
        `__Host-refreshToken=…; Max-Age=${maxAge}; Path=/; Secure; HttpOnly; SameSite=Strict`,
      ]);
      cookie = cookieHeader(answer);
    }
    service.advance(DAY_MS);
    const ended = await post("refresh-token", cookie);
    expect([...outcome(ended), ended.setCookies]).toEqual([401, "session_revoked", []]);
  });

  it("ends after 7 days without use", async () => {
    const cookie = cookieHeader(await post("refresh-token", await service.session()));
    service.advance(7 * DAY_MS);
    expect((await post("refresh-token", cookie)).status).toBe(401);
  });

  it("has an access cookie that outlives its token, so that browsers receive token_expired", async () => {
    const login = await service.login();
    expect(cookieAttributes(login).slice(0, 2)).toEqual([
      "__Host-accessToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
      "__Host-refreshToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
    ]);
    const expiresInMs = Date.parse(String(login.json["accessTokenExpiresAt"])) - Date.now();
    expect(expiresInMs).toBeLessThanOrEqual(600_000);
    expect(expiresInMs).toBeGreaterThan(540_000);
    service.advance(600_000 + 6000);
    expect(outcome(await currentUser(cookieHeader(login)))).toEqual([401, "token_expired"]);
  });

  it("ends when it is the least recently used of too many", async () => {
    await service.restart({ MAX_SESSIONS: "3" });
    const cookies = [await service.session(), await service.session(), await service.session()];
    const first = cookieHeader(await post("refresh-token", String(cookies[0])));
    const last = await service.session();
    expect(outcome(await currentUser(String(cookies[1])))).toEqual([401, "session_revoked"]);
    for (const cookie of [first, String(cookies[2]), last]) expect((await currentUser(cookie)).status).toBe(200);
  });

  it("ends at logout for every token that it ever had", async () => {
    const cookie = await service.session();
    const next = cookieHeader(await post("refresh-token", cookie));
    expect((await post("logout", next)).status).toBe(200);
    for (const replayed of [cookie, next]) {
      expect(outcome(await currentUser(replayed))).toEqual([401, "session_revoked"]);
      expect(outcome(await post("refresh-token", replayed))).toEqual([401, "session_revoked"]);
    }
  });
});

describe("logout with LOGOUT_ALLOW_REFRESH=true", () => {
  beforeEach(() => service.restart({ LOGOUT_ALLOW_REFRESH: "true" }));

  it("takes the refresh cookie in place of an expired or missing access token", async () => {
    const expired = await service.session();
    const alone = `__Host-refreshToken=${refreshOf(await service.session())}`;
    service.advance(600_000 + 6000);
    for (const cookie of [expired, alone]) {
      const answer = await post("logout", cookie);
      expect([answer.status, answer.setCookies]).toEqual([200, CLEARED]);
      expect(outcome(await post("refresh-token", cookie))).toEqual([401, "session_revoked"]);
    }
  });

  it("takes no replaced refresh token, and no forged access token", async () => {
    const old = `__Host-refreshToken=${refreshOf(await service.session())}`;
    const next = await post("refresh-token", old);
    expect(outcome(await post("logout", old))).toEqual([401, "token_invalid"]);
    expect(outcome(await post("logout", `${cookieHeader(next).split("; ")[1] ?? ""}; __Host-accessToken=x`))).toEqual([
      401,
      "token_invalid",
    ]);
    expect((await currentUser(cookieHeader(next))).status).toBe(200);
  });
});

describe("account labels in the log", () => {
  it("stay the same when the token keys change, and differ with another ACCOUNT_LABEL_SECRET", async () => {
    const labels = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
      await service.restart(env);
      const before = service.logLines.length;
      await service.login({ ...USER, password: "wrong password" });
      const line = service.logLines.slice(before).find((entry) => entry.includes("Login refused"));
      return (JSON.parse(String(line)) as Record<string, unknown>)["account"];
    };
    const tokens = (name: string): Readonly<Record<string, string>> => ({
      ACCESS_TOKEN_SECRET: `access-secret-of-32-bytes-or-more-${name}`,
      REFRESH_TOKEN_SECRET: `refresh-secret-of-32-bytes-or-more-${name}`,
    });
    const generated = await labels({});
    expect(generated).toMatch(/^[0-9a-f]{32}$/);
    expect(await labels(tokens("one"))).toBe(generated);
    expect(await labels(tokens("two"))).toBe(generated);
    const own = await labels({ ACCOUNT_LABEL_SECRET: "label-secret-of-32-bytes-or-more-xyz" });
    expect(own).not.toBe(generated);
    writeFileSync(join(service.directory, "label"), "label-secret-of-32-bytes-or-more-xyz\n");
    expect(await labels({ ACCOUNT_LABEL_SECRET_FILE: join(service.directory, "label") })).toBe(own);
  });
});
