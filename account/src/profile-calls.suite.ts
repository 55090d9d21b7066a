// The calls of signed-in users over real HTTP: sessions, name, avatar, password, and the end of the account.
// The test of each user store runs this suite.
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import {
  type Answer,
  cookieAttributes,
  cookieHeader,
  formCall,
  type Part,
  type RunningService,
  USER,
} from "./running-service.suite.ts";

const CLEARED = [
  "__Host-accessToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
  "__Host-refreshToken=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict",
];
const NEW_PASSWORD = "a better horse battery";
const AVATAR: Part = { name: "avatar", value: png(), fileName: "b.png", type: "image/png" };

/** Runs the suite on a service that `start` starts on an empty store. */
export function describeProfileCalls(name: string, start: () => Promise<RunningService>): void {
  let service: RunningService;
  let cookie: string;

  beforeEach(async () => {
    service = await start();
    await service.register({ ...USER, name: "Ada" });
    cookie = await service.session();
  });

  afterEach(() => service.stop());

  const call = (method: string, path: string, body?: unknown, session = cookie): Promise<Answer> =>
    service.call({
      method,
      path: `/api/v1/user/${path}`,
      headers: { Cookie: session, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const currentUser = (session = cookie): Promise<Answer> => call("GET", "current-user", undefined, session);
  const userOf = ({ json }: Answer): Record<string, string | null> => json["user"] as Record<string, string | null>;
  const upload = (parts: readonly Part[], session = cookie): Promise<Answer> =>
    service.call({ ...formCall(parts, { Cookie: session }), path: "/api/v1/user/avatar" });
  const outcome = ({ status, json }: Answer): readonly unknown[] => [status, json["code"]];
  const isServed = async (url: string | null | undefined): Promise<number> => (await fetch(String(url))).status;

  describe(`sessions on ${name}`, () => {
    it("are listed, the last used first, with the current one marked and nothing of the inside", async () => {
      service.advance(1000);
      const other = await service.login(USER, { "User-Agent": "Other/1.0" });
      const { status, json, text } = await call("GET", "sessions");
      const sessions = json["sessions"] as Record<string, unknown>[];
      expect([status, sessions.map((each) => each["current"])]).toEqual([200, [false, true]]);
      expect(sessions[0]).toMatchObject({ userAgent: "Other/1.0", network: "127.0.0.0/24" });
      expect(Object.keys(sessions[0]!)).toEqual([
        ...["id", "current", "createdAt", "lastUsedAt", "expiresAt", "userAgent", "network"],
      ]);
      expect(text).not.toMatch(/hash|generation|rotated/i);
      const ofOther = await call("GET", "sessions", undefined, cookieHeader(other));
      expect((ofOther.json["sessions"] as Record<string, unknown>[]).map((each) => each["current"])).toEqual([
        true,
        false,
      ]);
    });

    it("leave the list when they end", async () => {
      service.advance(8 * 86_400_000);
      cookie = await service.session();
      expect((await call("GET", "sessions")).json["sessions"]).toHaveLength(1);
    });

    it("are ended one by one: another one without effect on this one, and this one with its cookies", async () => {
      const other = await service.session();
      const sessions = (await call("GET", "sessions")).json["sessions"] as { id: string; current: boolean }[];
      const idOf = (current: boolean): string => sessions.find((each) => each.current === current)!.id;
      const revoked = await call("DELETE", `sessions/${idOf(false)}`);
      expect([revoked.status, revoked.setCookies]).toEqual([200, []]);
      expect(outcome(await currentUser(other))).toEqual([401, "session_revoked"]);
      expect((await currentUser()).status).toBe(200);
      expect(outcome(await call("DELETE", `sessions/${idOf(false)}`))).toEqual([404, "not_found"]);
      const own = await call("DELETE", `sessions/${idOf(true)}`);
      expect([own.status, own.setCookies]).toEqual([200, CLEARED]);
      expect(outcome(await currentUser())).toEqual([401, "session_revoked"]);
    });

    it("of other users cannot be ended", async () => {
      await service.register({ ...USER, email: "b@x.com" });
      const other = cookieHeader(await service.login({ ...USER, email: "b@x.com" }));
      const [session] = (await call("GET", "sessions", undefined, other)).json["sessions"] as { id: string }[];
      expect(outcome(await call("DELETE", `sessions/${session!.id}`))).toEqual([404, "not_found"]);
      expect((await currentUser(other)).status).toBe(200);
    });

    it("all end together", async () => {
      const other = await service.session();
      const answer = await call("DELETE", "sessions");
      expect([answer.status, answer.setCookies]).toEqual([200, CLEARED]);
      for (const session of [cookie, other])
        expect(outcome(await currentUser(session))).toEqual([401, "session_revoked"]);
      expect((await service.login()).status).toBe(200);
    });
  });

  describe(`the password on ${name}`, () => {
    it("changes, ends all sessions, also copies of this one, and opens a new one for the caller", async () => {
      const other = await service.session();
      const answer = await call("POST", "change-password", { password: USER.password, newPassword: NEW_PASSWORD });
      expect([answer.status, cookieAttributes(answer)]).toEqual([
        200,
        [
          "__Host-accessToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
          "__Host-refreshToken=…; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict",
        ],
      ]);
      for (const ended of [cookie, other]) {
        expect(outcome(await currentUser(ended))).toEqual([401, "session_revoked"]);
        expect(outcome(await call("POST", "refresh-token", undefined, ended))).toEqual([401, "session_revoked"]);
      }
      const session = cookieHeader(answer);
      expect((await currentUser(session)).status).toBe(200);
      expect((await call("POST", "refresh-token", undefined, session)).status).toBe(200);
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      expect((await service.login({ ...USER, password: NEW_PASSWORD })).status).toBe(200);
      expect(service.logLines.some((line) => line.includes("Password changed"))).toBe(true);
    });

    it.each([
      {
        body: { password: "not the password", newPassword: NEW_PASSWORD },
        status: 401,
        field: "password",
        code: "invalid_credentials",
      },
      { body: { newPassword: NEW_PASSWORD }, status: 400, field: "password", code: "password_required" },
      { body: { password: USER.password }, status: 400, field: "newPassword", code: "new_password_required" },
      {
        body: { password: USER.password, newPassword: "short" },
        status: 400,
        field: "newPassword",
        code: "password_too_short",
      },
      {
        body: { password: USER.password, newPassword: "sunshine2024" },
        status: 400,
        field: "newPassword",
        code: "password_common",
      },
      {
        body: { password: USER.password, newPassword: "Ada@x.com!" },
        status: 400,
        field: "newPassword",
        code: "password_personal",
      },
    ])("stays after $code of $field", async ({ body, status, field, code }) => {
      const email = "ada@x.com";
      await service.register({ ...USER, email });
      const session = cookieHeader(await service.login({ ...USER, email }));
      const answer = await call("POST", "change-password", body, session);
      expect([answer.status, answer.json["errors"]]).toEqual([
        status,
        [{ field, message: answer.json["message"], code }],
      ]);
      expect((await service.login({ ...USER, email })).status).toBe(200);
    });

    it("changes once when two sessions change it at a time", async () => {
      const other = await service.session();
      const bodies = [NEW_PASSWORD, "another horse battery"].map((newPassword) => ({
        password: USER.password,
        newPassword,
      }));
      const answers = await Promise.all([
        call("POST", "change-password", bodies[0]),
        call("POST", "change-password", bodies[1], other),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      const works = await Promise.all(
        bodies.map(async ({ newPassword }) => (await service.login({ ...USER, password: newPassword })).status),
      );
      expect(works).toEqual(statuses.map((status) => (status === 200 ? 200 : 401)));
    });
  });

  describe(`the profile on ${name}`, () => {
    it("has a name that changes and can be removed", async () => {
      const renamed = await call("PATCH", "current-user", { name: " Countess " });
      expect([renamed.status, userOf(renamed)["name"]]).toEqual([200, "Countess"]);
      expect(userOf(await currentUser())).toEqual(userOf(renamed));
      expect(userOf(await call("PATCH", "current-user", { name: null }))["name"]).toBeNull();
      expect(userOf(await currentUser())["name"]).toBeNull();
    });

    it.each([
      { body: {}, code: "name_required" },
      { body: { name: 7 }, code: "invalid_name" },
      { body: { name: " " }, code: "invalid_name" },
      { body: { name: "a\u202eb" }, code: "invalid_name" },
    ])("keeps its name after $code of $body", async ({ body, code }) => {
      const { status, json } = await call("PATCH", "current-user", body);
      expect([status, json["errors"]]).toEqual([400, [{ field: "name", message: json["message"], code }]]);
      expect(userOf(await currentUser())["name"]).toBe("Ada");
    });

    it("has an avatar that changes: the new image is served, the earlier one no longer", async () => {
      const before = userOf(await currentUser())["avatar"];
      const answer = await upload([AVATAR]);
      const after = userOf(answer)["avatar"];
      expect([answer.status, userOf(await currentUser())["avatar"]]).toEqual([200, after]);
      expect(await isServed(after)).toBe(200);
      await eventually("the earlier image to go", async () => expect(await isServed(before)).toBe(404));
    });

    it("has an avatar that can be removed, and added again", async () => {
      const before = userOf(await currentUser())["avatar"];
      const removed = await call("DELETE", "avatar");
      expect([removed.status, userOf(removed)["avatar"]]).toEqual([200, null]);
      await eventually("the image to go", async () => expect(await isServed(before)).toBe(404));
      expect((await call("DELETE", "avatar")).status).toBe(200);
      expect(await isServed(userOf(await upload([AVATAR]))["avatar"])).toBe(200);
    });

    it.each([
      { name: "no image", parts: [], code: "validation_failed", fieldCode: "avatar_required" },
      {
        name: "an empty image",
        parts: [{ ...AVATAR, value: "" }],
        code: "validation_failed",
        fieldCode: "avatar_required",
      },
      { name: "a text", parts: [{ ...AVATAR, value: "text" }], code: "avatar_type", fieldCode: "avatar_type" },
      {
        name: "a damaged image",
        parts: [{ ...AVATAR, value: png().subarray(0, 60) }],
        code: "avatar_invalid",
        fieldCode: "avatar_damaged",
      },
    ])("keeps its avatar after $name", async ({ parts, code, fieldCode }) => {
      const before = userOf(await currentUser())["avatar"];
      const { json } = await upload(parts);
      expect([json["code"], json["errors"]]).toEqual([
        code,
        [{ field: "avatar", message: json["message"], code: fieldCode }],
      ]);
      expect(userOf(await currentUser())["avatar"]).toBe(before);
      expect(await isServed(before)).toBe(200);
    });

    it("keeps one of several avatars that are sent at a time, and removes the others", async () => {
      const before = userOf(await currentUser())["avatar"];
      const answers = await Promise.all(Array.from({ length: 4 }, () => upload([AVATAR])));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const kept = userOf(await currentUser())["avatar"];
      const others = [before, ...answers.map((answer) => userOf(answer)["avatar"])].filter((url) => url !== kept);
      expect(others).toHaveLength(4);
      await eventually("the others to go", async () => {
        for (const url of others) expect(await isServed(url)).toBe(404);
      });
      expect(await isServed(kept)).toBe(200);
    });
  });

  describe(`the end of an account on ${name}`, () => {
    it("takes record, sessions and avatar, and frees the address", async () => {
      const other = await service.session();
      const { avatar, id } = userOf(await currentUser());
      const answer = await call("POST", "delete-account", { password: USER.password });
      expect([answer.status, answer.setCookies]).toEqual([200, CLEARED]);
      for (const session of [cookie, other])
        expect(outcome(await currentUser(session))).toEqual([401, "session_revoked"]);
      expect(outcome(await call("POST", "refresh-token"))).toEqual([401, "session_revoked"]);
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      await eventually("the avatar to go", async () => expect(await isServed(avatar)).toBe(404));
      const again = await service.register();
      expect(again.status).toBe(201);
      expect(userOf(again)["id"]).not.toBe(id);
    });

    it("needs the password", async () => {
      const wrong = await call("POST", "delete-account", { password: "not the password" });
      expect([wrong.status, wrong.json["errors"]]).toEqual([
        401,
        [{ field: "password", message: "The password is incorrect.", code: "invalid_credentials" }],
      ]);
      expect(outcome(await call("POST", "delete-account", {}))).toEqual([400, "validation_failed"]);
      expect(outcome(await call("POST", "delete-account", []))).toEqual([400, "malformed_json"]);
      expect(await isServed(userOf(await currentUser())["avatar"])).toBe(200);
    });
  });

  it.each([
    ["GET", "sessions"],
    ["DELETE", "sessions"],
    ["DELETE", "sessions/11111111-1111-4111-8111-111111111111"],
    ["PATCH", "current-user"],
    ["POST", "avatar"],
    ["DELETE", "avatar"],
    ["POST", "change-password"],
    ["POST", "delete-account"],
  ])(`%s %s on ${name} needs a session`, async (method, path) => {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    expect(outcome(await call(method, path, body, ""))).toEqual([401, "not_authenticated"]);
    await call("DELETE", "sessions");
    expect(outcome(await call(method, path, body))).toEqual([401, "session_revoked"]);
  });
}
