// The account service as a browser meets it: a page of another origin, two replicas started from the rendered chart
// behind an Ingress, the rules of the browser for cookies and origins, and pods of the previous version
// (e2e/previous.json).
import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AccountSite, HOSTS, startAccountSite } from "@weir/harness/weir/account-site.suite";
import { startBrowser } from "@weir/harness/weir/browser";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import { ROOT } from "@weir/harness/processes/programs";

const PERSON = { email: "grace@example.com", password: "nanoseconds of wire", name: "Grace" };

const AVATAR = { name: "avatar.png", mimeType: "image/png", buffer: SAMPLE_AVATAR };

/** Last second of a minute in which the guesses begin, so that they are in one window of the limit. */
const MINUTE_LATEST_SECOND = 45;

describe("the account service under a browser", () => {
  const folder = makeTemporaryFolder();
  let site: AccountSite | undefined;
  let browser: Browser | undefined;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    site = await startAccountSite(folder.path);
    browser = await startBrowser(site.address, site.certificatePath);
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

  it(
    "serves users, sessions and avatars of either version while both run, and after the old one is gone",
    async () => {
      const previous = await buildPrevious(process.env, "account");
      const [first, second] = site!.pods;
      const earlier = { ...PERSON, email: "earlier@example.com" };
      // One old pod next to a new one, two old ones, then new ones again.
      const steps = [
        { pod: first!, root: previous, person: PERSON },
        { pod: second!, root: previous, person: PERSON, next: earlier },
        { pod: first!, root: ROOT, person: earlier },
        { pod: second!, root: ROOT, person: earlier, next: PERSON },
      ];
      for (const { pod, root, person, next } of steps) {
        await site!.replace(pod, root);
        // The session of the step before, at each of the pods in turn.
        for (let call = 0; call < 2; call += 1) {
          expect(await press(page, "current-user")).toBe(`current-user 200 ${person.email}`);
          await eventually("the avatar", async () => expect(await page.textContent("#size")).toBe("64x64"));
          expect(await press(page, "refresh-token")).toBe("refresh-token 200 done");
        }
        if (next === undefined) continue;
        await fillIn(page, next);
        if (next === earlier) expect(await press(page, "register")).toBe(`register 201 ${next.email}`);
        expect(await press(page, "login")).toBe(`login 200 ${next.email}`);
      }
    },
    BUILD_TIMEOUT_MS,
  );

  it("is refused after five guesses, which both replicas count together, and may read when to retry", async () => {
    await eventually("the next minute", () => expect((Date.now() / 1000) % 60).toBeLessThan(MINUTE_LATEST_SECOND));
    await fillIn(page, { ...PERSON, email: "victim@example.com" });
    const answers: string[] = [];
    for (let guess = 0; guess < 6; guess += 1) answers.push(await press(page, "login"));
    expect(answers).toEqual([
      ...Array.from({ length: 5 }, () => "login 401 invalid_credentials"),
      "login 429 rate_limited retry",
    ]);
    for (const pod of site!.pods) {
      const metrics = await (await fetch(`http://${pod.at("metrics")}/metrics`)).text();
      expect(metrics).toMatch(/^ratelimit_decisions_total\{route="login",decided_by="service".*\} [1-9]/m);
      expect(metrics).toMatch(/^ratelimit_decisions_total\{route="login",decided_by="local".*\} 0/m);
    }
  });

  it("keeps the session when the replica that opened it is gone", async () => {
    await site!.stopFirst();
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

  async function open(host: string): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(`https://${host}/`);
    return opened;
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
