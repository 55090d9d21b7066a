// The five calls over real HTTP, one after the other as a person makes them, and what stays over a
// restart.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { eventually } from "@weir/harness/processes/eventually";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import {
  type Answer,
  cookieAttributes,
  cookieHeader,
  cookieValue,
  type RunningService,
  startService,
  USER,
} from "./running-service.suite.ts";

let service: RunningService;

beforeEach(async () => {
  service = await startService();
});

afterEach(() => service.stop());

function currentUser(cookie: string): Promise<Answer> {
  return service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
}

function post(name: string, cookie: string): Promise<Answer> {
  return service.call({ method: "POST", path: `/api/v1/user/${name}`, headers: { Cookie: cookie } });
}

describe("register", () => {
  it("answers 201 with the user, no cookies, and nothing of the inside", async () => {
    const answer = await service.register({ ...USER, name: " Ada " });
    expect([answer.status, answer.headers.location, answer.setCookies]).toEqual([201, "/api/v1/user/current-user", []]);
    const user = answer.json["user"] as Record<string, unknown>;
    expect(Object.keys(user)).toEqual(["id", "email", "emailVerified", "name", "avatar", "createdAt"]);
    expect(user).toMatchObject({ email: "a@x.com", name: "Ada" });
    expect(answer.text).not.toMatch(/hash|sessions|revision|\$2b/);
  });

  it("gives an avatar URL that serves the image under a fixed type", async () => {
    const user = (await service.register()).json["user"] as Record<string, string>;
    const avatar = await fetch(String(user["avatar"]));
    expect(await sharp(await avatar.arrayBuffer()).metadata()).toMatchObject({ format: "png", width: 32, height: 32 });
    expect(Object.fromEntries(avatar.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
      "cross-origin-resource-policy": "cross-origin",
      "cache-control": "public, max-age=31536000, immutable",
    });
  });

  it("answers the URL of avatars with the MEDIA_PUBLIC_URL of today", async () => {
    const user = (await service.register()).json["user"] as Record<string, string>;
    await service.restart({ MEDIA_PUBLIC_URL: "https://cdn.example.com/" });
    const { avatar } = (await service.login()).json["user"] as Record<string, string>;
    expect(avatar).toBe(String(user["avatar"]).replace(/^.*\/media\//, "https://cdn.example.com/"));
  });

  it("answers 413 on the field for an avatar that is too large at the lowest quality", async () => {
    await service.restart({ AVATAR_MAX_BYTES: "1024" });
    const side = 1100; // Pixels: of more than AVATAR_MAX_PIXELS, so that it is shrunk, which breaks the pattern.
    const dots = Buffer.from(
      Array.from({ length: side * side }, (_, at) => (((at % 7) * (at % 5)) % 3 === 1 ? 255 : 0)),
    );
    const pattern = sharp(dots, { raw: { width: side, height: side, channels: 1 } });
    const value = await pattern.png({ palette: true, colours: 2, compressionLevel: 9 }).toBuffer();
    expect(value.length).toBeLessThanOrEqual(1024);
    const { status, json } = await service.register(USER, [{ name: "avatar", value, fileName: "a.png" }]);
    expect([status, json["errors"]]).toEqual([
      413,
      [{ field: "avatar", message: json["message"], code: "avatar_too_large" }],
    ]);
  });

  it("answers 409 on the field when the address is taken, and stores no second image", async () => {
    await service.register();
    const answer = await service.register({ ...USER, email: " A@X.com " });
    expect([answer.status, answer.json["code"]]).toEqual([409, "email_taken"]);
    expect(answer.json["errors"]).toEqual([{ field: "email", message: answer.json["message"], code: "email_taken" }]);
    expect(images()).toHaveLength(1);
  });

  it("accepts one of 30 at a time, answers 29 that the address is taken, and leaves one user and one image", async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => service.register()));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 29 }, () => 409)]);
    await eventually("one image", () => expect(images()).toHaveLength(1));
    expect(rows()).toHaveLength(1);
  });

  it("stores only known fields, and of the password only a hash", async () => {
    const further = ["__proto__", "constructor.prototype.x", "email[$ne]", "sessions[0][sid]", "passwordHash", "_id"];
    const extra = further.map((name) => ({ name, value: '{"isAdmin":true}' }));
    const avatar = { name: "avatar", value: png(), fileName: "a.png", type: "image/png" };
    expect((await service.register(USER, [...extra, avatar])).status).toBe(201);
    const [row] = rows();
    expect(Object.keys(row ?? {}).sort()).toEqual(
      [
        "avatar",
        "avatar_key",
        "created_at_ms",
        "email",
        "email_key",
        "email_verified_at_ms",
        "id",
        "locked_at_ms",
        "mail_tokens",
        "name",
        "password_hash",
        "refresh_token",
        "revision",
        "sessions",
        "updated_at_ms",
      ].sort(),
    );
    expect(row?.["password_hash"]).toMatch(/^\$2b\$04\$/);
    expect(JSON.stringify(row)).not.toContain("isAdmin");
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });
});

describe("login", () => {
  beforeEach(async () => {
    await service.register();
  });

  it("sets exactly three cookies that scripts cannot read, and puts no token in the body", async () => {
    const answer = await service.login();
    expect(answer.status).toBe(200);
    expect(cookieAttributes(answer)).toEqual([
      "__Host-accessToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
      "__Host-refreshToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
      "__Host-device=…; Max-Age=15552000; Path=/; Secure; HttpOnly; SameSite=Strict",
    ]);
    expect(Object.keys(answer.json)).toEqual(["message", "user", "accessTokenExpiresAt", "refreshTokenExpiresAt"]);
    expect(answer.text).not.toContain(cookieValue(cookieHeader(answer), "__Host-accessToken"));
  });

  it("answers alike for an unknown address and a wrong password", async () => {
    const wrong = await service.login({ ...USER, password: "wrong" });
    const unknown = await service.login({ ...USER, email: "unknown@x.com" });
    const comparable = ({ status, json, headers }: Answer): unknown => [
      status,
      { ...json, requestId: "" },
      Object.keys(headers),
      headers["content-length"],
    ];
    expect(comparable(unknown)).toEqual(comparable(wrong));
    expect([wrong.status, wrong.json["code"], wrong.setCookies]).toEqual([401, "invalid_credentials", []]);
    expect(wrong.headers["www-authenticate"]).toBe('Cookie realm="account"');
  });

  it("refuses as busy what is too much of 200 at a time, and holds up no other call", async () => {
    await service.restart({ BCRYPT_COST: "12", BCRYPT_CONCURRENCY: "1" });
    const cookie = await service.session();
    let open = 200;
    const logins = Array.from({ length: 200 }, async () => {
      const answer = await service.login({ ...USER, email: "unknown@x.com" });
      open -= 1;
      return answer;
    });
    for (let count = 0; count < 5; count++) expect((await currentUser(cookie)).status).toBe(200);
    expect(open).toBeGreaterThan(0); // The accepted ones wait for up to 3 s.
    const answers = await Promise.all(logins);
    const busy = answers.filter(({ status }) => status === 503);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 503]));
    expect(busy.length).toBeGreaterThan(100); // One runs, and at most 16 of one address wait.
    for (const { json, headers } of busy) expect([json["code"], headers["retry-after"]]).toEqual(["busy", "1"]);
  });

  it("ends the session of a planted cookie and opens a new one", async () => {
    await service.register({ email: "evil@x.com", password: "attackers password" });
    const planted = cookieHeader(await service.login({ email: "evil@x.com", password: "attackers password" }));
    const own = cookieHeader(await service.login(USER, { Cookie: planted }));
    expect(((await currentUser(own)).json["user"] as Record<string, unknown>)["email"]).toBe("a@x.com");
    expect((await currentUser(planted)).json["code"]).toBe("session_revoked");
  });

  it("keeps the session of the browser usable when the new one cannot be stored", async () => {
    const other = { email: "other@x.com", password: "another fine phrase" };
    await service.register(other);
    const cookie = cookieHeader(await service.login(other));
    const database = new DatabaseSync(join(service.directory, "accounts.sqlite"));
    database.exec(
      "CREATE TRIGGER failing BEFORE UPDATE ON users WHEN OLD.email_key = 'a@x.com' BEGIN SELECT RAISE(FAIL, 'x'); END",
    );
    expect((await service.login(USER, { Cookie: cookie })).status).toBe(503);
    expect((await currentUser(cookie)).status).toBe(200);
    database.exec("DROP TRIGGER failing");
    database.close();
    expect((await service.login(USER, { Cookie: cookie })).status).toBe(200);
    expect((await currentUser(cookie)).json["code"]).toBe("session_revoked");
  });

  it("ends no other session when the same user logs in again with as many as allowed", async () => {
    await service.restart({ MAX_SESSIONS: "2" });
    const [other, own] = [await service.session(), await service.session()];
    await service.login(USER, { Cookie: own });
    expect([(await currentUser(other)).status, (await currentUser(own)).json["code"]]).toEqual([
      200,
      "session_revoked",
    ]);
  });

  it("ends the first of eleven sessions", async () => {
    const first = await service.session();
    const second = await service.session();
    for (let count = 0; count < 9; count++) await service.session();
    expect([(await currentUser(first)).json["code"], (await currentUser(second)).status]).toEqual([
      "session_revoked",
      200,
    ]);
  });

  it("makes a stronger hash at the next login when the cost was raised", async () => {
    await service.restart({ BCRYPT_COST: "5" });
    expect((await service.login()).status).toBe(200);
    expect(rows()[0]?.["password_hash"]).toMatch(/^\$2b\$05\$/);
    expect((await service.login()).status).toBe(200);
  });

  it("stores nothing that could be replayed", async () => {
    const cookie = await service.session();
    const dump =
      readFileSync(join(service.directory, "accounts.sqlite-wal")).toString("latin1") + JSON.stringify(rows());
    expect(dump).not.toContain(cookieValue(cookie, "__Host-refreshToken"));
    expect(dump).not.toContain(cookieValue(cookie, "__Host-accessToken"));
    expect(dump).not.toContain(USER.password);
    expect(rows()[0]?.["refresh_token"]).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("current-user, refresh-token and logout", () => {
  let cookie: string;

  beforeEach(async () => {
    await service.register();
    cookie = await service.session();
  });

  it("answer the profile, and 401 not_authenticated without cookies", async () => {
    expect((await currentUser(cookie)).json["user"]).toMatchObject({ email: "a@x.com", name: null });
    const anonymous = await service.call({ path: "/api/v1/user/current-user" });
    expect([anonymous.status, anonymous.json["code"], anonymous.setCookies]).toEqual([401, "not_authenticated", []]);
  });

  it("give a new access token for an expired one", async () => {
    service.advance(10 * 60_000 + 6000);
    expect((await currentUser(cookie)).json["code"]).toBe("token_expired");
    const refreshed = await post("refresh-token", cookie);
    expect((await currentUser(cookieHeader(refreshed))).status).toBe(200);
  });

  it("refuse an expired refresh token and clear the cookies", async () => {
    service.advance(7 * 86_400_000 + 6000);
    const answer = await post("refresh-token", cookie);
    expect([answer.status, answer.json["code"]]).toEqual([401, "token_expired"]);
    expect(answer.setCookies).toEqual([
      "__Host-accessToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
      "__Host-refreshToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
    ]);
  });

  it("end the session immediately at logout, for every token of it and for no other session", async () => {
    const other = await service.session();
    const answer = await post("logout", cookie);
    expect([answer.status, answer.setCookies.length]).toEqual([200, 2]);
    expect((await currentUser(cookie)).json["code"]).toBe("session_revoked");
    expect((await post("refresh-token", cookie)).json["code"]).toBe("session_revoked");
    expect((await post("logout", cookie)).status).toBe(401);
    expect((await currentUser(other)).status).toBe(200);
    expect(JSON.parse(String(rows()[0]?.["sessions"]))).toHaveLength(1);
  });

  it("refuse a logout without or with an expired access token and keep the session", async () => {
    expect((await post("logout", "a=b")).json["code"]).toBe("not_authenticated");
    service.advance(10 * 60_000 + 6000);
    const expired = await post("logout", cookie);
    expect([expired.status, expired.json["code"], expired.setCookies]).toEqual([401, "token_expired", []]);
    expect((await post("refresh-token", cookie)).status).toBe(200);
  });

  it("answer 401 for a user that is gone", async () => {
    const database = new DatabaseSync(join(service.directory, "accounts.sqlite"));
    database.exec("DELETE FROM users");
    database.close();
    expect([(await currentUser(cookie)).json["code"], (await post("refresh-token", cookie)).json["code"]]).toEqual([
      "session_revoked",
      "session_revoked",
    ]);
  });

  it("know accounts and sessions after a restart", async () => {
    await service.restart();
    expect((await currentUser(cookie)).status).toBe(200);
    expect((await service.login()).status).toBe(200);
  });

  it("treat another spelling of a signature as the same token", async () => {
    const access = cookieValue(cookie, "__Host-accessToken");
    expect((await post("logout", cookie)).status).toBe(200);
    for (const variant of [access, `${access}==`, respelled(access)]) {
      expect((await currentUser(`__Host-accessToken=${variant}`)).status).toBe(401);
    }
  });

  it("take each token in its own cookie only", async () => {
    const access = cookieValue(cookie, "__Host-accessToken");
    const refresh = cookieValue(cookie, "__Host-refreshToken");
    expect((await currentUser(`__Host-accessToken=${refresh}`)).json["code"]).toBe("token_invalid");
    expect((await post("refresh-token", `__Host-refreshToken=${access}`)).json["code"]).toBe("token_invalid");
    const bearer = await service.call({
      path: "/api/v1/user/current-user",
      headers: { Authorization: `Bearer ${access}` },
    });
    const query = await service.call({ path: `/api/v1/user/current-user?accessToken=${access}` });
    expect([bearer.status, query.status]).toEqual([401, 401]);
  });

  it("refuse a cookie that appears twice, in either order, and clear it", async () => {
    for (const header of [`__Host-accessToken=bad; ${cookie}`, `${cookie}; __Host-accessToken=bad`]) {
      const answer = await currentUser(header);
      expect([answer.json["code"], answer.setCookies.length]).toEqual(["token_invalid", 2]);
    }
  });

  it("do not know a cookie that another host of the site planted under a name that only looks like it", async () => {
    // Byte A0 is a no-break space to JavaScript, and part of a name without a prefix to browsers.
    const planted = (await service.session()).replace(/^/, "\u00a0").replaceAll("; ", "; \u00a0");
    const head = "GET /api/v1/user/current-user HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ";
    expect(await service.raw(Buffer.from(`${head}${planted}\r\n\r\n`, "latin1"))).toContain(
      `"code":"not_authenticated"`,
    );
  });

  it("do not know the cookie in another case", async () => {
    const access = cookieValue(cookie, "__Host-accessToken");
    expect((await currentUser(`__host-accesstoken=${access}`)).json["code"]).toBe("not_authenticated");
  });

  it("refuse two refresh cookies, and cookies of two sessions, in path mode", async () => {
    await service.restart({ COOKIE_SCOPE: "path" });
    const [mine, other] = [await service.session(), await service.session()];
    const refresh = cookieValue(mine, "__Secure-refreshToken");
    const otherRefresh = cookieValue(other, "__Secure-refreshToken");
    const tossed = await post(
      "refresh-token",
      `__Secure-refreshToken=${otherRefresh}; __Secure-refreshToken=${refresh}`,
    );
    expect(tossed.json["code"]).toBe("token_invalid");
    expect((await currentUser(mine)).status).toBe(200);
    const mixed = `__Host-accessToken=${cookieValue(mine, "__Host-accessToken")}; __Secure-refreshToken=${otherRefresh}`;
    expect((await currentUser(mixed)).json["code"]).toBe("token_invalid");
    const switched = await post("refresh-token", mixed);
    expect([switched.status, switched.json["code"]]).toEqual([401, "token_invalid"]);
    expect((await post("refresh-token", `__Host-accessToken=expired; __Secure-refreshToken=${refresh}`)).status).toBe(
      200,
    );
  });
});

/**
 * The same signature with other unused bits in its last character: base64url decodes both to the
 * same bytes.
 */
function respelled(token: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(token.slice(-1));
  return token.slice(0, -1) + String(alphabet[last ^ 1]);
}

function images(): readonly string[] {
  return readdirSync(join(service.directory, "media"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".png"),
  );
}

function rows(): readonly Readonly<Record<string, unknown>>[] {
  const database = new DatabaseSync(join(service.directory, "accounts.sqlite"), { readOnly: true });
  const found = database.prepare("SELECT * FROM users").all();
  database.close();
  return found;
}
