// The account service of its chart on a node with Weir: a browser with a page of another origin and the rules of the
// browser for cookies and origins, and floods of logins.
import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type AccountSite, HOSTS, startAccountSite } from "@weir/harness/node/account-site.suite";
import { startBrowser } from "@weir/harness/weir/browser";
import { NodeAccess, type NodePod } from "@weir/harness/node/node-access";

const PERSON = { email: "grace@example.com", password: "nanoseconds of wire", name: "Grace" };

const AVATAR = { name: "avatar.png", mimeType: "image/png", buffer: SAMPLE_AVATAR };

/** Last second of a minute in which guesses begin, so that they are in one window of the limit. */
const MINUTE_LATEST_SECOND = 40;

describe("the account service", () => {
  const node = new NodeAccess(inject("node"));
  const folder = makeTemporaryFolder();
  let site: AccountSite | undefined;
  let browser: Browser | undefined;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    site = await startAccountSite(node, folder.path);
    browser = await startBrowser(site);
    context = await browser.newContext();
    page = await open(HOSTS.app);
  });

  afterAll(async () => {
    await browser?.close();
    await site?.stop();
    folder.remove();
  });

  it("registers with an avatar, which the page shows from the bucket", async () => {
    await fillIn(page, PERSON);
    await page.setInputFiles('input[name="avatar"]', AVATAR);
    expect(await press(page, "register")).toBe(`register 201 ${PERSON.email}`);
    await eventually("the avatar", async () => expect(await page.textContent("#size")).toBe("64x64"));
    expect(await page.getAttribute("#avatar", "src")).toMatch(/^https:\/\/media\.weir\.test\/avatars\/.*\.png$/);
    expect(await press(page, "register")).toBe("register 409 email_taken");
  });

  it("logs in, with cookies that the browser keeps from the page", async () => {
    expect(await press(page, "current-user")).toBe("current-user 401 not_authenticated");
    expect(await press(page, "login")).toBe(`login 200 ${PERSON.email}`);
    expect(await page.textContent("#cookies")).toBe("");
    const cookies = await context.cookies();
    const attributes = { domain: HOSTS.account, path: "/", httpOnly: true, secure: true, sameSite: "Strict" };
    for (const cookie of cookies) expect(cookie).toMatchObject(attributes);
    expect(cookies.map(({ name }) => name).toSorted()).toEqual([
      "__Host-accessToken",
      "__Host-device",
      "__Host-refreshToken",
    ]);
    expect(await press(page, "current-user")).toBe(`current-user 200 ${PERSON.email}`);
  });

  it("refreshes, with new tokens", async () => {
    const before = await tokens();
    expect(await press(page, "refresh-token")).toBe("refresh-token 200 done");
    const after = await tokens();
    expect(after["__Host-accessToken"]).not.toBe(before["__Host-accessToken"]);
    expect(after["__Host-refreshToken"]).not.toBe(before["__Host-refreshToken"]);
    expect(await press(page, "current-user")).toBe(`current-user 200 ${PERSON.email}`);
  });

  it("reads no answer on a page whose origin is not listed, and changes nothing for it", async () => {
    const stranger = await open(HOSTS.stranger);
    expect(await press(stranger, "current-user")).toBe("current-user failed: TypeError");
    const other = { ...PERSON, email: "stranger@example.com" };
    await fillIn(stranger, other);
    await stranger.setInputFiles('input[name="avatar"]', AVATAR);
    // The browser asks before it sends a login, and is refused; it sends the form, which the service refuses.
    expect(await press(stranger, "login")).toBe("login failed: TypeError");
    expect(await press(stranger, "register")).toBe("register failed: TypeError");
    expect(await press(stranger, "logout")).toBe("logout failed: TypeError");
    expect(await press(page, "current-user")).toBe(`current-user 200 ${PERSON.email}`);
    await fillIn(page, other);
    expect(await press(page, "login")).toBe("login 401 invalid_credentials");
    await stranger.close();
  });

  it("gets no cookies from a page of another site", async () => {
    const thief = await open(HOSTS.thief);
    const [request] = await Promise.all([
      thief.waitForRequest((each) => each.url().endsWith("/current-user")),
      press(thief, "current-user"),
    ]);
    expect((await request.allHeaders())["cookie"]).toBeUndefined();
    const [own] = await Promise.all([
      page.waitForRequest((each) => each.url().endsWith("/current-user")),
      press(page, "current-user"),
    ]);
    expect((await own.allHeaders())["cookie"]).toContain("__Host-accessToken=");
    await thief.close();
  });

  it("is refused after five guesses, which both replicas count together, and may read when to retry", async () => {
    await startOfMinute();
    await fillIn(page, { ...PERSON, email: "victim@example.com" });
    const answers: string[] = [];
    for (let guess = 0; guess < 6; guess += 1) answers.push(await press(page, "login"));
    expect(answers).toEqual([
      ...Array.from({ length: 5 }, () => "login 401 invalid_credentials"),
      "login 429 rate_limited retry",
    ]);
    for (const pod of site!.pods) {
      const metrics = await metricsOf(pod);
      expect(metrics).toMatch(/^ratelimit_decisions_total\{route="login",decided_by="service".*\} [1-9]/m);
      expect(metrics).toMatch(/^ratelimit_decisions_total\{route="login",decided_by="local".*\} 0/m);
    }
  });

  it("keeps the session when the replica that opened it is gone", async () => {
    await site!.kubectl("delete", "pod", site!.pods[0].name);
    for (let call = 0; call < 3; call += 1)
      expect(await press(page, "current-user")).toBe(`current-user 200 ${PERSON.email}`);
    expect(await press(page, "refresh-token")).toBe("refresh-token 200 done");
  });

  it("logs out, and the browser forgets the tokens", async () => {
    const before = await tokens();
    expect(await press(page, "logout")).toBe("logout 200 done");
    expect(await tokens()).toEqual({ "__Host-device": before["__Host-device"] });
    expect(await press(page, "current-user")).toBe("current-user 401 not_authenticated");
  });

  describe("behind the rate limit service", () => {
    let pod: NodePod;
    let userUrl: string;

    beforeAll(() => {
      pod = site!.pods[1]; // Each attempt comes from an address of its choice, as if through a proxy.
      userUrl = `http://${pod.address}:8000/api/v1/user`;
    });

    it("has the limits that the account service asks for", async () => {
      const { address } = await rateLimitPod();
      const text = await (await fetch(`http://${address}:6070/rlconfig`)).text();
      const lines = text.split("\n").filter((line) => line.startsWith("account."));
      expect(lines.toSorted().map((line) => line.replace(/, shadow_mode.*/, ""))).toEqual([
        "account.route_login.account: unit=HOUR requests_per_unit=100",
        "account.route_login.account_ip: unit=MINUTE requests_per_unit=5",
        "account.route_login.device: unit=HOUR requests_per_unit=100",
        "account.route_login.ip: unit=MINUTE requests_per_unit=20",
        "account.route_login.ip_net: unit=MINUTE requests_per_unit=40",
        "account.route_mail.account: unit=HOUR requests_per_unit=3",
        "account.route_mail.ip: unit=HOUR requests_per_unit=10",
        "account.route_mail.ip_net: unit=HOUR requests_per_unit=20",
        "account.route_profile.ip: unit=MINUTE requests_per_unit=120",
        "account.route_profile.ip_net: unit=MINUTE requests_per_unit=240",
        "account.route_profile.session: unit=MINUTE requests_per_unit=30",
        "account.route_refresh.ip: unit=MINUTE requests_per_unit=60",
        "account.route_refresh.ip_net: unit=MINUTE requests_per_unit=120",
        "account.route_refresh.session: unit=MINUTE requests_per_unit=20",
        "account.route_register.ip: unit=MINUTE requests_per_unit=5",
        "account.route_register.ip_day: unit=DAY requests_per_unit=50",
        "account.route_register.ip_net: unit=MINUTE requests_per_unit=10",
      ]);
    });

    it("stops the sixth login of a minute, with the correct password and for unknown accounts alike", async () => {
      await startOfMinute();
      const wrong = { ...PERSON, password: "guess" };
      expect(await statusesOf(6, wrong, "203.0.113.1")).toEqual([401, 401, 401, 401, 401, 429]);
      const refused = await logIn(PERSON, "203.0.113.1");
      expect(refused.status).toBe(429);
      const retryAfter = Number(refused.headers.get("retry-after"));
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect(await refused.json()).toMatchObject({ code: "rate_limited", errors: [] });
      const unknown = { email: "unknown@example.com", password: "guess" };
      expect(await statusesOf(6, unknown, "203.0.113.2")).toEqual([401, 401, 401, 401, 401, 429]);
      expect(await statusesOf(1, PERSON, "203.0.113.3")).toEqual([200]);
      expect(await metricOf('ratelimit_decisions_total{route="login",decided_by="local",decision="allowed"}')).toBe(0);
      expect(await metricOf('ratelimit_errors_total{reason="deadline"}')).toBe(0);
    });

    it("stops a storm of logins from one address, whatever accounts it names", async () => {
      await startOfMinute();
      const storm = Array.from({ length: 200 }, (_, account) =>
        logIn({ email: `person-${account}@example.com`, password: "guess" }, "203.0.113.4").then(
          ({ status }) => status,
        ),
      );
      const statuses = await Promise.all(storm);
      // A slow machine refuses some of the 20 others as busy: they would wait too long for their hash.
      expect(statuses.filter((status) => status === 429)).toHaveLength(180);
      expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(0);
      expect(await statusesOf(1, PERSON, "203.0.113.5")).toEqual([200]);
    });

    it("still stops the sixth login while the rate limit service is gone, and asks it again when it is back", async () => {
      const { name } = await rateLimitPod();
      await site!.kubectl("scale", "rls", "limits", "--replicas=0");
      await site!.kubectl("wait", "--for=delete", `pod/${name}`, "--timeout=60s");
      await startOfMinute();
      const wrong = { ...PERSON, password: "guess" };
      expect(await statusesOf(6, wrong, "203.0.113.6")).toEqual([401, 401, 401, 401, 401, 429]);
      expect(await metricOf('ratelimit_errors_total{reason="unavailable"}')).toBeGreaterThan(0);
      expect(await metricOf('ratelimit_decisions_total{route="login",decided_by="local",decision="denied"}')).toBe(1);
      const byService = 'ratelimit_decisions_total{route="refresh",decided_by="service",decision="allowed"}';
      const before = await metricOf(byService);
      await site!.kubectl("scale", "rls", "limits", "--replicas=1");
      await eventually("the service to decide", async () => {
        await fetch(`${userUrl}/refresh-token`, { method: "POST" });
        expect(await metricOf(byService)).toBeGreaterThan(before);
      });
    });

    function logIn(body: object, from: string): Promise<Response> {
      const headers = { "Content-Type": "application/json", "X-Forwarded-For": from };
      return fetch(`${userUrl}/login`, { method: "POST", headers, body: JSON.stringify(body) });
    }

    async function statusesOf(times: number, body: object, from: string): Promise<number[]> {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < times; attempt++) statuses.push((await logIn(body, from)).status);
      return statuses;
    }

    async function metricOf(series: string): Promise<number> {
      const line = (await metricsOf(pod)).split("\n").find((each) => each.startsWith(series));
      return Number(line?.slice(series.length) ?? NaN);
    }
  });

  async function open(host: string): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(`https://${host}/`);
    return opened;
  }

  async function rateLimitPod(): Promise<NodePod> {
    return (await node.pods("weir-ratelimit", "accounts"))[0]!;
  }

  async function tokens(): Promise<Record<string, string>> {
    return Object.fromEntries((await context.cookies()).map(({ name, value }) => [name, value]));
  }
});

async function fillIn(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`input[name="${name}"]`, value);
}

/** Presses a button, and resolves with the answer that the page shows. */
async function press(page: Page, id: string): Promise<string> {
  await page.click(`#${id}`);
  return await eventually(`the answer to ${id}`, async () => {
    const text = await page.textContent("#result");
    if (text === null || text === "") throw new Error("the page shows none");
    return text;
  });
}

async function metricsOf({ address }: NodePod): Promise<string> {
  return await (await fetch(`http://${address}:9464/metrics`)).text();
}

/** Waits until a minute has time left, so that no window ends during the attempts of a test. */
async function startOfMinute(): Promise<void> {
  await eventually("the next minute", () => expect((Date.now() / 1000) % 60).toBeLessThan(MINUTE_LATEST_SECOND));
}
