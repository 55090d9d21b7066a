// Foreign pages against the real service: what they may read and do, and which errors a browser
// receives.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Answer, formCall, type RunningService, startService, USER } from "../running-service.suite.ts";

const LISTED = "http://localhost:5173";
const EVIL = "https://evil.example";

let service: RunningService;
let cookie: string;

beforeEach(async () => {
  service = await startService();
  await service.register();
  cookie = await service.session();
});

afterEach(() => service.stop());

function post(path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return service.call({ method: "POST", path: `/api/v1/user/${path}`, headers: { Cookie: cookie, ...headers } });
}

function currentUser(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie, ...headers } });
}

describe("calls from foreign pages", () => {
  it("cannot log out, and the session lives on", async () => {
    const answer = await post("logout", { "Sec-Fetch-Site": "cross-site", Origin: EVIL });
    expect([answer.status, answer.json["code"]]).toEqual([403, "cross_site_request"]);
    expect((await currentUser()).status).toBe(200);
  });

  it("cannot register by a form: refused before the body is read", async () => {
    const form = formCall([{ name: "email", value: "b@x.com" }], { Origin: EVIL, "Content-Length": "1000" });
    const answer = await service.call({
      ...form,
      headers: { ...form.headers, "Content-Length": "1000", "Sec-Fetch-Site": "cross-site" },
    });
    expect(answer.status).toBe(403);
    expect((await service.login({ ...USER, email: "b@x.com" })).status).toBe(401);
  });

  it.each([
    { method: "DELETE", path: "/api/v1/user/current-user" },
    { method: "PUT", path: "/api/v1/user/login" },
    { method: "POST", path: "/healthz" },
    { method: "PATCH", path: "/media/avatars/x" },
  ])("cannot call $method $path, as no method but GET, HEAD and OPTIONS", async ({ method, path }) => {
    const answer = await service.call({ method, path, headers: { Origin: EVIL } });
    expect([answer.status, answer.json["code"]]).toEqual([403, "cross_site_request"]);
    const safe = await service.call({ method: "HEAD", path: "/healthz", headers: { Origin: EVIL } });
    expect(safe.status).toBe(200);
  });

  it.each([
    { name: "a sandboxed frame", headers: { Origin: "null" }, status: 403 },
    {
      name: "a sibling that is not listed",
      headers: { Origin: "https://other.x.com", "Sec-Fetch-Site": "same-site" },
      status: 403,
    },
    { name: "an unlisted origin in an older browser", headers: { Origin: EVIL }, status: 403 },
    { name: "a listed front end", headers: { Origin: LISTED, "Sec-Fetch-Site": "same-site" }, status: 200 },
    { name: "no browser", headers: {}, status: 200 },
  ])("get $status when they are $name", async ({ headers, status }) => {
    expect((await post("refresh-token", headers)).status).toBe(status);
  });

  it("cannot log in by a form that looks like JSON", async () => {
    const answer = await service.login('{"email":"a@x.com","password":"correct horse battery","x":"="}', {
      "Content-Type": "text/plain",
    });
    expect([answer.status, answer.json["code"]]).toEqual([415, "unsupported_media_type"]);
  });
});

describe("answers to pages", () => {
  it.each([
    EVIL,
    "http://localhost:5173.evil.com",
    "http://localhost:51730",
    "https://localhost:5173",
    "null",
    "HTTP://LOCALHOST:5173",
  ])("cannot be read by %s", async (origin) => {
    const { status, headers } = await currentUser({ Origin: origin });
    expect([status, headers["access-control-allow-origin"], headers["access-control-allow-credentials"]]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    expect(headers.vary).toBe("Origin");
  });

  it("can be read by a listed front end, errors too", async () => {
    const tooLarge = { "Content-Type": "application/json", Origin: LISTED };
    const answers = [
      await currentUser({ Origin: LISTED, Cookie: "" }),
      await service.call({
        method: "POST",
        path: "/api/v1/user/login",
        headers: tooLarge,
        body: `{"x":"${"y".repeat(20_000)}"}`,
      }),
      await post("login", { Origin: LISTED }),
      await service.call({ path: "/nowhere", headers: { Origin: LISTED } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 413, 415, 404]);
    for (const { headers } of answers) {
      expect([
        headers["access-control-allow-origin"],
        headers["access-control-allow-credentials"],
        headers.vary,
      ]).toEqual([LISTED, "true", "Origin"]);
    }
  });

  it("to a preflight allow the methods and headers of the interface and no others", async () => {
    const preflight = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-evil" };
    const { status, headers } = await service.call({
      method: "OPTIONS",
      path: "/api/v1/user/login",
      headers: { Origin: LISTED, ...preflight },
    });
    expect(status).toBe(204);
    expect(headers["access-control-allow-headers"]).toBe("Content-Type, X-Request-Id, traceparent, tracestate");
    expect(headers["access-control-allow-methods"]).toBe("GET, POST, PATCH, DELETE");
    expect(headers["access-control-max-age"]).toBe("600");
  });

  it("to a preflight of another origin allow nothing", async () => {
    const { headers } = await service.call({
      method: "OPTIONS",
      path: "/api/v1/user/login",
      headers: { Origin: EVIL },
    });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it.each([
    { method: "POST", path: "/api/v1/user/current-user", allow: "GET, HEAD, PATCH, OPTIONS" },
    { method: "PUT", path: "/api/v1/user/login", allow: "POST, OPTIONS" },
    { method: "GET", path: "/api/v1/user/register", allow: "POST, OPTIONS" },
    { method: "DELETE", path: "/media/avatars/x", allow: "GET, HEAD, OPTIONS" },
    { method: "TRACE", path: "/", allow: "GET, HEAD, POST, PATCH, DELETE, OPTIONS" },
  ])("to $method $path name the methods it takes", async ({ method, path, allow }) => {
    const answer = await service.call({ method, path });
    expect([answer.status, answer.headers.allow, answer.json["code"]]).toEqual([405, allow, "method_not_allowed"]);
    expect(answer.json["message"]).not.toBe("");
  });

  it.each(["/api/v1/user/current-user/", "/API/v1/user/current-user", "/api/v1/user", "/page", "/metrics"])(
    "are 404 for %s",
    async (path) => {
      const answer = await service.call({ path, headers: { Cookie: cookie } });
      expect([answer.status, answer.json["code"]]).toEqual([404, "not_found"]);
    },
  );

  it("have the headers of the contract and none that names the software", async () => {
    const { headers } = await currentUser();
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "strict-transport-security": "max-age=31536000; includeSubDomains",
    });
    expect([headers["x-powered-by"], headers.etag, headers["server"]]).toEqual([undefined, undefined, undefined]);
  });

  it("follow RFC 9457 when asked to", async () => {
    const { headers, json } = await currentUser({ Cookie: "", Accept: "application/problem+json" });
    expect(headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(json).toMatchObject({
      type: "urn:account:error:not_authenticated",
      title: "not authenticated",
      status: 401,
      detail: json["message"],
    });
  });
});

describe("with cookies that go along across sites", () => {
  it("a call must have an origin", async () => {
    await service.restart({ COOKIE_SAMESITE: "none" });
    const session = await service.login(USER, { Origin: LISTED });
    expect(session.setCookies[0]).toContain("SameSite=None");
    expect((await service.login()).status).toBe(403);
  });
});
