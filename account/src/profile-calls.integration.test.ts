// The calls of signed-in users on the embedded store, and their limits.
import { afterEach, describe, expect, it } from "vitest";
import { describeProfileCalls } from "./profile-calls.suite.ts";
import { type Answer, cookieHeader, type RunningService, startService, USER } from "./running-service.suite.ts";

describeProfileCalls("the embedded store", () => startService());

describe("limits of the calls of signed-in users", () => {
  let service: RunningService;

  afterEach(() => service.stop());

  /** Starts at the start of a minute, so that no window ends during a test. */
  async function start(): Promise<void> {
    service = await startService({ RATE_LIMIT_FAILURE: "local" });
    service.advance(60_000 - (Date.now() % 60_000));
    await service.register();
  }

  const call = (method: string, path: string, cookie: string, body?: object): Promise<Answer> =>
    service.call({
      method,
      path: `/api/v1/user/${path}`,
      headers: { Cookie: cookie, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  it("stop a page in a loop after 30 calls a minute, and no other session of its address", async () => {
    await start();
    const [cookie, other] = [await service.session(), await service.session()];
    const statuses: number[] = [];
    for (let count = 0; count < 31; count++) statuses.push((await call("GET", "sessions", cookie)).status);
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 200), 429]);
    expect((await call("GET", "sessions", other)).status).toBe(200);
    expect((await call("GET", "current-user", cookie)).status).toBe(200);
  });

  it("count guesses of a stolen session as logins", async () => {
    await start();
    const cookie = cookieHeader(await service.login()); // The first of five.
    const guess = { password: "not the password" };
    const answers = [
      await call("POST", "delete-account", cookie, guess),
      await call("POST", "change-password", cookie, { ...guess, newPassword: "a better horse battery" }),
      await call("POST", "delete-account", cookie, guess),
      await call("POST", "delete-account", cookie, guess),
      await call("POST", "delete-account", cookie, { password: USER.password }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 429]);
    expect((await service.login()).status).toBe(429);
  });
});

describe("a page of another origin", () => {
  it("may make the calls when it is listed, with the trace headers, and none otherwise", async () => {
    const service = await startService();
    const preflight = await service.call({
      method: "OPTIONS",
      path: "/api/v1/user/sessions/1",
      headers: {
        Origin: "http://localhost:5173",
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": "traceparent",
      },
    });
    expect(preflight.headers).toMatchObject({
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      allow: "DELETE, OPTIONS",
    });
    expect(preflight.headers["access-control-allow-headers"]).toContain("traceparent");
    for (const method of ["PATCH", "DELETE"]) {
      const path = method === "PATCH" ? "/api/v1/user/current-user" : "/api/v1/user/sessions";
      const refused = await service.call({ method, path, headers: { Origin: "https://evil.example" } });
      expect([refused.status, refused.json["code"]]).toEqual([403, "cross_site_request"]);
    }
    await service.stop();
  });
});
