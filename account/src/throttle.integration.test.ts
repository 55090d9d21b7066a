// The limits over real HTTP: what stops a guesser, whom it does not stop, and a rate limit service that
// does not answer.
import { readFileSync } from "node:fs";
import { ServerCredentials } from "@grpc/grpc-js";
import { eventually } from "@weir/harness/processes/eventually";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { RateLimitServer } from "@weir/harness/servers/rate-limit-server";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { MailServer, tokenOf } from "./mail/smtp-server.suite.ts";
import {
  type Answer,
  cookieHeader,
  cookieValue,
  type RunningService,
  startService,
  USER,
} from "./running-service.suite.ts";

const WRONG = { ...USER, password: "not the password" };
const UNKNOWN = { email: "unknown@x.com", password: "not the password" };

let service: RunningService;

afterEach(() => service.stop());

/** Starts a service behind one proxy at the start of a minute, so that no window ends during a test. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  service = await startService({ RATE_LIMIT_FAILURE: "local", TRUST_PROXY: "1", ...env });
  service.advance(60_000 - (Date.now() % 60_000));
}

/** Logs in so many times from an address, and gives the statuses. */
async function logIn(times: number, body: object, { from = "203.0.113.7", cookie = "" } = {}): Promise<number[]> {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < times; attempt++)
    statuses.push((await service.login(body, { "X-Forwarded-For": from, Cookie: cookie })).status);
  return statuses;
}

function repeat(status: number, times: number): number[] {
  return Array.from({ length: times }, () => status);
}

describe("limits without a rate limit service", () => {
  beforeEach(async () => {
    await start();
    await service.register();
  });

  it("stop the sixth login of a minute, also with the correct password, and allow it after the window", async () => {
    expect(await logIn(5, WRONG)).toEqual(repeat(401, 5));
    const refused = await service.login(USER, { "X-Forwarded-For": "203.0.113.7", Origin: "http://localhost:5173" });
    expect([refused.status, refused.json["code"], refused.setCookies]).toEqual([429, "rate_limited", []]);
    const retryAfter = Number(refused.headers["retry-after"]);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(refused.json["message"]).toBe(`Too many attempts. Try again in ${retryAfter} seconds.`);
    // A page of a listed origin may read the refusal.
    expect(refused.headers["access-control-allow-origin"]).toBe("http://localhost:5173");
    expect(refused.headers["access-control-allow-credentials"]).toBe("true");
    expect(refused.headers["access-control-expose-headers"]).toContain("Retry-After");
    service.advance(retryAfter * 1000);
    expect(await logIn(1, USER)).toEqual([200]);
  });

  it("answer alike for accounts that exist and others", async () => {
    const comparable = ({ status, json, headers }: Answer): unknown => {
      const { requestId: _id, ...body } = json;
      const { date: _date, "x-request-id": _header, ...rest } = headers;
      return [status, body, rest];
    };
    const [known, unknown]: unknown[][] = [[], []];
    service.advance(30_000); // A second later Retry-After may differ, and no window ends.
    for (let attempt = 0; attempt < 7; attempt++) {
      const [first, second] = await Promise.all([
        service.login(WRONG, { "X-Forwarded-For": "203.0.113.7" }),
        service.login(UNKNOWN, { "X-Forwarded-For": "203.0.113.7" }),
      ]);
      known!.push(withoutSeconds(comparable(first)));
      unknown!.push(withoutSeconds(comparable(second)));
    }
    expect(known).toEqual(unknown);
  });

  it("count what a client that is no proxy writes into X-Forwarded-For as one address", async () => {
    await service.restart({ TRUST_PROXY: "" });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++)
      statuses.push(...(await logIn(1, WRONG, { from: `198.51.100.${attempt}` })));
    expect(statuses).toEqual([...repeat(401, 5), 429]);
  });

  it("count addresses that cannot be read as that of the proxy", async () => {
    const statuses: number[] = [];
    for (const from of ["a", "b", "1.2.3.4:x", "unknown", "::g", "-"])
      statuses.push(...(await logIn(1, WRONG, { from })));
    expect(statuses).toEqual([...repeat(401, 5), 429]);
  });

  it("count an address that a proxy writes with its port, also behind further proxies that do", async () => {
    await service.restart({ TRUST_PROXY: "127.0.0.1,10.0.0.0/8" });
    const statuses: number[] = [];
    for (let port = 0; port < 6; port++)
      statuses.push(...(await logIn(1, WRONG, { from: `203.0.113.9:500${port}, 10.0.0.1:44${port}` })));
    expect(statuses).toEqual([...repeat(401, 5), 429]);
    expect(await logIn(1, WRONG, { from: "203.0.113.10:5000, 10.0.0.1:441" })).toEqual([401]);
  });

  it("warn once of X-Forwarded-For while no proxy is trusted", async () => {
    const warnings = (): number => service.logLines.filter((line) => line.includes("has X-Forwarded-For")).length;
    await logIn(1, WRONG);
    expect(warnings()).toBe(0);
    await service.restart({ TRUST_PROXY: "" });
    await logIn(2, WRONG);
    expect(warnings()).toBe(1);
  });

  it("count an IPv6 network of /64 as one address, and all of a /56 twice as much", async () => {
    const statuses: number[] = [];
    for (let guess = 0; guess < 41; guess++)
      statuses.push(
        ...(await logIn(1, { ...WRONG, email: `p${guess}@x.com` }, { from: `2001:db8:0:1${guess + 10}::1` })),
      );
    expect(statuses).toEqual([...repeat(401, 40), 429]);
    expect(await logIn(1, WRONG, { from: "2001:db8:0:200::1" })).toEqual([401]);
  });

  it("count guesses for one account from an IPv6 network of /56 as one address", async () => {
    expect(await logIn(5, WRONG, { from: "2001:db8:0:1::1" })).toEqual(repeat(401, 5));
    expect(await logIn(1, WRONG, { from: "2001:db8:0:2:ffff::2" })).toEqual([429]);
    expect(await logIn(1, WRONG, { from: "2001:db8:0:100::1" })).toEqual([401]);
  });

  it("stop an address that guesses for many accounts, before it is known for which", async () => {
    const statuses: number[] = [];
    for (let account = 0; account < 20; account++)
      statuses.push(...(await logIn(1, { ...WRONG, email: `person-${account}@x.com` })));
    expect(statuses).toEqual(repeat(401, 20));
    const call = { method: "POST", path: "/api/v1/user/login", headers: { "X-Forwarded-For": "203.0.113.7" } };
    expect((await service.call({ ...call, body: "x".repeat(100) })).status).toBe(429); // Not 415: the body was not looked at.
    expect(await logIn(1, USER, { from: "198.51.100.1" })).toEqual([200]);
  });

  it("stop guesses from many addresses, but not a browser that has logged in before", async () => {
    const device = `__Host-device=${cookieValue(cookieHeader(await service.login()), "__Host-device")}`;
    const other = { email: "b@x.com", password: USER.password };
    await service.register(other);
    const guesses: number[] = [];
    for (let guess = 0; guess < 100; guess++) guesses.push(...(await logIn(1, WRONG, { from: `198.51.${guess}.1` })));
    // The login above was the first of the hundred.
    expect(guesses).toEqual([...repeat(401, 99), 429]);
    expect(await logIn(1, USER, { from: "192.0.2.1" })).toEqual([429]);
    expect(await logIn(1, USER, { from: "192.0.2.2", cookie: device })).toEqual([200]);
    // The cookie counts for its account only, and a second one of the name for none.
    expect(await logIn(1, USER, { from: "192.0.2.3", cookie: `${device}; ${device}` })).toEqual([429]);
    const foreign = cookieHeader(await service.login(other, { "X-Forwarded-For": "192.0.2.4" }));
    expect(await logIn(1, USER, { from: "192.0.2.5", cookie: foreign })).toEqual([429]);
    // It does not help to guess faster from one address.
    expect(await logIn(6, WRONG, { from: "192.0.2.6", cookie: device })).toEqual([...repeat(401, 5), 429]);
    // Nor from many: six of its hundred are used.
    const stolen: number[] = [];
    for (let guess = 0; guess < 95; guess++)
      stolen.push(...(await logIn(1, WRONG, { from: `198.52.${guess}.1`, cookie: device })));
    expect(stolen).toEqual([...repeat(401, 94), 429]);
    service.advance(3_600_000);
    expect(await logIn(1, USER, { from: "192.0.2.7" })).toEqual([200]);
  });

  it("stop the sixth registration of a minute before its body is read", async () => {
    const statuses: number[] = [];
    for (let person = 0; person < 5; person++)
      statuses.push((await service.register({ ...USER, email: `person-${person}@x.com` })).status);
    expect(statuses).toEqual([201, 201, 201, 201, 429]); // The first of the five was before the test.
    const form = { "Content-Type": "multipart/form-data", "Content-Length": "1000000000" };
    const answer = await service.call({ method: "POST", path: "/api/v1/user/register", headers: form });
    expect(answer.status).toBe(429);
  });

  it("stop the 21st refresh of a session in a minute, which does not count for its address", async () => {
    const cookies = [await service.session(), await service.session()];
    const refreshes = async (cookie: string, times: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let call = 0; call < times; call++) {
        const headers = { Cookie: cookie };
        statuses.push((await service.call({ method: "POST", path: "/api/v1/user/refresh-token", headers })).status);
      }
      return statuses;
    };
    expect(await refreshes(cookies[0]!, 70)).toEqual([...repeat(200, 20), ...repeat(429, 50)]);
    expect(await refreshes(cookies[1]!, 1)).toEqual([200]);
  });

  it("stop the 61st refresh of an address in a minute and keep the session", async () => {
    const cookie = await service.session();
    const refresh = { method: "POST", path: "/api/v1/user/refresh-token", headers: { Cookie: "" } };
    for (let call = 0; call < 60; call++) expect((await service.call(refresh)).status).toBe(401);
    const refused = await service.call({ ...refresh, headers: { Cookie: cookie } });
    expect([refused.status, refused.setCookies]).toEqual([429, []]);
    const who = await service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
    expect(who.status).toBe(200);
  });

  it("are counted in the metrics, and logged with the address and without the e-mail", async () => {
    await logIn(6, WRONG);
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(metrics).toContain('ratelimit_decisions_total{route="login",decided_by="local",decision="denied"} 1');
    expect(metrics).toContain('ratelimit_decisions_total{route="login",decided_by="local",decision="allowed"} 11');
    expect(metrics).toContain('ratelimit_decisions_total{route="refresh",decided_by="service",decision="denied"} 0');
    expect(metrics).toContain('ratelimit_errors_total{reason="deadline"} 0');
    const lines = service.logLines.filter((line) => line.includes("Request over its limit"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"addressPrefix":"203.0.113.7"');
    expect(lines[0]).not.toContain(USER.email);
  });
});

describe("RATE_LIMIT_LOCAL", () => {
  it("changes limits of this process", async () => {
    await start({ RATE_LIMIT_LOCAL: "login.account_ip=2/hour,login.ip=3/minute" });
    await service.register();
    expect(await logIn(3, WRONG)).toEqual([401, 401, 429]);
    expect(await logIn(1, UNKNOWN)).toEqual([429]);
  });
});

describe("the device cookie", () => {
  it("has neither Secure nor a prefix with COOKIE_INSECURE_DEV, and still takes a browser out of the limit", async () => {
    await start({ COOKIE_INSECURE_DEV: "true" });
    await service.register();
    const answer = await service.login();
    expect(answer.setCookies[2]?.replace(/=[^;]+/, "=…")).toBe(
      "device=…; Max-Age=15552000; Path=/; HttpOnly; SameSite=Strict",
    );
    const cookie = `device=${cookieValue(cookieHeader(answer), "device")}`;
    for (let guess = 0; guess < 100; guess++) await logIn(1, WRONG, { from: `198.51.${guess}.1` });
    expect(await logIn(1, USER, { from: "192.0.2.1" })).toEqual([429]);
    expect(await logIn(1, USER, { from: "192.0.2.1", cookie })).toEqual([200]);
  });

  it("does not count for the next holder of the address", async () => {
    const server = await MailServer.start();
    await start({ MAIL: "smtp", SMTP_URL: server.url, MAIL_FROM: "accounts@example.com" });
    await service.register();
    const device = async (body: object = USER): Promise<string> => {
      const cookie = cookieHeader(await service.login(body, { "X-Forwarded-For": "192.0.2.1" }));
      return `__Host-device=${cookieValue(cookie, "__Host-device")}`;
    };
    const post = (path: string, body: object, cookie = ""): Promise<Answer> =>
      service.call({
        method: "POST",
        path: `/api/v1/user/${path}`,
        headers: { "Content-Type": "application/json", Cookie: cookie },
        body: JSON.stringify(body),
      });
    const first = await device();
    await post("forgot-password", { email: USER.email });
    await eventually("the mail", () => expect(server.mails).toHaveLength(1));
    const owner = { ...USER, password: "a better horse battery" };
    const reset = await post("reset-password", { token: tokenOf(server, "reset"), newPassword: owner.password });
    for (let guess = 0; guess < 100; guess++) await logIn(1, WRONG, { from: `198.50.${guess}.1` });
    expect(await logIn(1, owner, { from: "203.0.113.1", cookie: first })).toEqual([429]);
    expect(await logIn(1, owner, { from: "203.0.113.1", cookie: cookieHeader(reset) })).toEqual([200]);
    service.advance(3_600_000);
    const second = await device(owner);
    const session = cookieHeader(await service.login(owner, { "X-Forwarded-For": "192.0.2.2" }));
    expect((await post("delete-account", { password: owner.password }, session)).status).toBe(200);
    await service.register();
    const third = await device();
    for (let guess = 0; guess < 100; guess++) await logIn(1, WRONG, { from: `198.51.${guess}.1` });
    expect(await logIn(1, USER, { from: "203.0.113.1", cookie: first })).toEqual([429]);
    expect(await logIn(1, USER, { from: "203.0.113.1", cookie: second })).toEqual([429]);
    expect(await logIn(1, USER, { from: "203.0.113.1", cookie: third })).toEqual([200]);
    await server.stop();
  });

  it("stays when the session ends", async () => {
    await start();
    await service.register();
    const cookie = cookieHeader(await service.login());
    const logout = { method: "POST", path: "/api/v1/user/logout", headers: { Cookie: cookie } };
    expect((await service.call(logout)).setCookies.join()).not.toContain("device");
  });
});

describe("limits of a rate limit service", () => {
  let server: RateLimitServer;

  beforeEach(async () => {
    server = new RateLimitServer({
      "route_login.ip": 100,
      "route_login.account_ip": 2,
      "route_login.account": 100,
      "route_login.device": 100,
      "route_register.ip": 100,
      "route_register.ip_day": 100,
      "route_refresh.ip": 100,
    });
    await server.start();
    await start({ RATE_LIMIT_GRPC: server.target, RATE_LIMIT_TIMEOUT: "5s" });
    await service.register();
    server.requests.length = 0;
  });

  afterEach(() => server.stop());

  it("decide about the address before the body is parsed, and about the account after that", async () => {
    await logIn(1, WRONG, { from: "2001:db8:0:1::1" });
    expect(server.requests).toEqual([
      "account: (route, login)(ip, 2001:db8:0:1::/64) (route, login)(ip_net, 2001:db8::/56)",
      expect.stringMatching(
        /^account: \(route, login\)\(account_ip, [0-9a-f]{32}\) \(route, login\)\(account, [0-9a-f]{32}\)$/,
      ),
    ]);
    server.requests.length = 0;
    await service.login("{", { "X-Forwarded-For": "203.0.113.7" });
    expect(server.requests).toEqual(["account: (route, login)(ip, 203.0.113.7)"]);
  });

  it("decide about registrations and refreshes by address", async () => {
    await service.register({ ...USER, email: "b@x.com" });
    await service.call({ method: "POST", path: "/api/v1/user/refresh-token" });
    expect(server.requests).toEqual([
      "account: (route, register)(ip, 127.0.0.1) (route, register)(ip_day, 127.0.0.1)",
      "account: (route, refresh)(ip, 127.0.0.1)",
    ]);
  });

  it("are not asked about current-user, logout, pages of other origins and probes", async () => {
    await service.call({ path: "/api/v1/user/current-user" });
    await service.call({ method: "POST", path: "/api/v1/user/logout" });
    await service.login(USER, { Origin: "https://evil.example" });
    await service.call({ path: "/healthz" });
    expect(server.requests).toEqual([]);
  });

  it("give the same label to one account however it is written, and never the e-mail", async () => {
    await service.login({ ...USER, email: " A@X.com " });
    await service.login(USER);
    const [, first, , second] = server.requests;
    expect(first).toBe(second);
    expect(server.requests.join()).not.toContain("x.com");
  });

  it("count a browser that has logged in before by itself, not in what the account has left", async () => {
    const cookie = cookieHeader(await service.login());
    server.requests.length = 0;
    await service.login(USER, { Cookie: cookie });
    expect(server.requests[1]).toMatch(
      /^account: \(route, login\)\(account_ip, [0-9a-f]{32}\) \(route, login\)\(device, [0-9a-f]{32}\)$/,
    );
  });

  it("set Retry-After from what the service says", async () => {
    expect(await logIn(3, WRONG)).toEqual([401, 401, 429]);
    const refused = await service.login(USER, { "X-Forwarded-For": "203.0.113.7" });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "30"]);
  });
});

describe("a rate limit service over TLS", () => {
  const folder = makeTemporaryFolder();
  let server: RateLimitServer;

  beforeEach(() => {
    server = new RateLimitServer();
  });

  afterEach(() => server.stop());

  afterAll(() => folder.remove());

  /** Makes a new authority, with which the server and the service know each other. */
  async function listen(port = 0): Promise<Readonly<Record<string, string>>> {
    const files = await writeCertificates(folder.path);
    const pair = { cert_chain: readFileSync(files.serverCert), private_key: readFileSync(files.serverKey) };
    await server.start(`127.0.0.1:${port}`, ServerCredentials.createSsl(readFileSync(files.ca), [pair], true));
    return {
      RATE_LIMIT_GRPC: server.target,
      RATE_LIMIT_TIMEOUT: "5s",
      RATE_LIMIT_TLS: "true",
      RATE_LIMIT_TLS_CACERT: files.ca,
      RATE_LIMIT_TLS_CLIENT_CERT: files.clientCert,
      RATE_LIMIT_TLS_CLIENT_KEY: files.clientKey,
    };
  }

  it("is asked, also after the files of both sides have changed", async () => {
    await start(await listen());
    await logIn(1, WRONG);
    expect(server.requests).toHaveLength(2);
    const { port } = server;
    server.stop();
    server = new RateLimitServer();
    await listen(port);
    await eventually("the files to be read again", () =>
      expect(service.logLines.some((line) => line.includes("Reloaded TLS files"))).toBe(true),
    );
    await eventually("the service to be asked", async () => {
      service.advance(5000);
      await logIn(1, WRONG);
      expect(server.requests.length).toBeGreaterThan(0);
    });
  });
});

describe("a rate limit service that does not answer", () => {
  let server: RateLimitServer;

  beforeEach(async () => {
    server = new RateLimitServer();
    await server.start();
  });

  afterEach(() => server.stop());

  async function startWith(behaviour: "refused" | "silent" | "internal", failure: string): Promise<void> {
    await start({ RATE_LIMIT_GRPC: server.target, RATE_LIMIT_FAILURE: failure });
    if (behaviour === "refused") server.stop();
    else server.behaviour = behaviour;
  }

  it.each(["refused", "silent", "internal"] as const)("and is %s: this process stops attempt 6", async (behaviour) => {
    await startWith(behaviour, "local");
    expect(await logIn(6, WRONG)).toEqual([...repeat(401, 5), 429]);
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/ratelimit_errors_total\{reason="\w+"\} [1-9]/);
  });

  it("is asked three times, and then not for a while", async () => {
    await startWith("silent", "local");
    await logIn(5, WRONG);
    expect(server.requests).toHaveLength(3);
    service.advance(5000);
    await logIn(5, { ...WRONG, email: "b@x.com" });
    expect(server.requests).toHaveLength(4);
  });

  it.each(["refused", "silent", "internal"] as const)("and is %s: closed answers 503", async (behaviour) => {
    await startWith(behaviour, "closed");
    const answer = await service.login(WRONG);
    expect([answer.status, answer.json["code"], answer.headers["retry-after"]]).toEqual([
      503,
      "rate_limit_unavailable",
      "5",
    ]);
    expect((await service.call({ path: "/readyz" })).status).toBe(200);
  });

  it("and is refused: open lets every login through", async () => {
    await startWith("refused", "open");
    expect(await logIn(8, WRONG)).toEqual(repeat(401, 8));
  });
});

function withoutSeconds(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer)
      .replaceAll(/in \d+ seconds?/g, "in … seconds")
      .replaceAll(/("retry-after":)"\d+"/g, '$1"…"'),
  );
}
