// The page in a real browser: the whole life of an account, what goes wrong on the way, and what everybody can use.
import { eventually } from "@weir/harness/processes/eventually";
import { startBrowser } from "@weir/harness/weir/browser";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MailServer, tokenOf } from "./mail/smtp-server.suite.ts";
import { png } from "./media/sample-images.suite.ts";
import { type RunningService, startService, USER } from "./running-service.suite.ts";

/** Largest page, in bytes: document, script, style and icon. */
const SIZE_MAX_BYTES = 40 * 1024;

const IMAGE = { name: "a.png", mimeType: "image/png", buffer: png() };

const NEW_PASSWORD = "a better horse battery";

type Browser = Awaited<ReturnType<typeof startBrowser>>;
type Context = Awaited<ReturnType<Browser["newContext"]>>;
type Tab = Awaited<ReturnType<Context["newPage"]>>;

describe("the page", () => {
  let browser: Browser;
  let mail: MailServer;
  let service: RunningService;
  let users = 0;

  beforeAll(async () => {
    [browser, mail] = await Promise.all([startBrowser(), MailServer.start()]);
    service = await startService({ MAIL: "smtp", SMTP_URL: mail.url, MAIL_FROM: "a@example.com" });
  });

  afterAll(async () => {
    await browser.close();
    await service.stop();
    await mail.stop();
  });

  /** A tab with a view, in a browser of its own unless one is given, and what the browser complains of. */
  async function open(view = "", context?: Context) {
    const tab = await (context ?? (await browser.newContext())).newPage();
    const complaints: string[] = [];
    tab.on("console", (message) => complaints.push(message.text()));
    tab.on("pageerror", (error) => complaints.push(String(error)));
    await tab.goto(`http://localhost:${service.port}/${view}`);
    await tab.getByRole("heading", { level: 1 }).waitFor();
    return { tab, complaints };
  }

  /** Registers a user of its own without the page. */
  async function newUser(): Promise<string> {
    const email = `user${(users += 1)}@example.com`;
    await service.register({ ...USER, email, name: "Ada Lovelace" });
    return email;
  }

  async function signIn(tab: Tab, email: string, password = USER.password): Promise<void> {
    await tab.getByLabel("E-mail address").fill(email);
    await tab.getByLabel("Password", { exact: true }).fill(password);
    await tab.getByRole("button", { name: "Sign in" }).click();
  }

  const account = (tab: Tab) => tab.getByRole("heading", { name: "Your account" });
  const form = (tab: Tab, id: string) => tab.locator(`#${id}`);

  /** A signed-in tab. */
  async function openAccount(): Promise<{ readonly tab: Tab; readonly email: string }> {
    const email = await newUser();
    const { tab } = await open();
    await signIn(tab, email);
    await account(tab).waitFor();
    return { tab, email };
  }

  async function violationsOf(tab: Tab): Promise<readonly unknown[]> {
    await tab.evaluate(axe.source);
    const { violations } = await tab.evaluate<axe.AxeResults>("axe.run()");
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }

  it("registers with a picture, verifies the address, changes all of the account, and deletes it", async () => {
    const { tab, complaints } = await open("#/register");
    await tab.getByLabel("Picture").setInputFiles(IMAGE);
    await tab.locator('.preview img[src^="blob:"]').waitFor();
    await tab.getByLabel("Name").fill("Ada");
    await tab.getByLabel("E-mail address").fill("ada@example.com");
    await tab.getByLabel("Password", { exact: true }).fill(USER.password);
    await tab.getByRole("button", { name: "Create account" }).click();
    await account(tab).waitFor();
    await tab.locator('.who img[src*="/media/"]').waitFor();
    await eventually("the picture", async () => {
      expect(await tab.evaluate("document.querySelector('.who img').naturalWidth")).toBeGreaterThan(0);
    });

    await tab.getByText("not verified").waitFor();
    await tab.getByRole("button", { name: "Send verification mail" }).click();
    await tab.getByText("A mail is on its way. Open its link.").waitFor();
    await tab.goto(`http://localhost:${service.port}/#verify=${tokenOf(mail, "verify")}`);
    await tab.getByText("Your e-mail address is verified.").waitFor();
    expect(tab.url()).not.toContain("verify");

    await tab.getByLabel("Name").fill("Ada Lovelace");
    await tab.getByRole("button", { name: "Save name" }).click();
    await tab.locator(".who").getByText("Ada Lovelace").waitFor();
    expect(await tab.evaluate("document.activeElement.textContent")).toBe("Save name");
    const earlier = await tab.locator(".who img").getAttribute("src");
    await tab.getByLabel("New picture").setInputFiles(IMAGE);
    await tab.getByRole("button", { name: "Save picture" }).click();
    await eventually("the new picture", async () => {
      expect(await tab.locator(".who img").getAttribute("src")).not.toBe(earlier);
    });
    await tab.getByRole("button", { name: "Remove picture" }).click();
    await tab.getByRole("status").getByText("Your avatar is removed.").waitFor();
    expect(await tab.locator(".who img").count()).toBe(0);
    expect(await tab.evaluate("document.activeElement.id")).toBe("picture-avatar");

    await tab.getByText("Change the address").click();
    await form(tab, "change-email").getByLabel("New e-mail address").fill("ada@example.org");
    await form(tab, "change-email").getByLabel("Password", { exact: true }).fill(USER.password);
    await tab.getByRole("button", { name: "Change address" }).click();
    await tab.getByText("A mail is on its way to the new address. Open its link.").waitFor();
    await tab.goto(`http://localhost:${service.port}/#verify=${tokenOf(mail, "verify")}`);
    await tab.locator(".present").getByText("ada@example.org").waitFor();

    await form(tab, "change-password").getByLabel("Present password", { exact: true }).fill(USER.password);
    await form(tab, "change-password").getByLabel("New password", { exact: true }).fill(NEW_PASSWORD);
    await tab.getByRole("button", { name: "Change password" }).click();
    await form(tab, "change-password").getByText("Your password is changed.").waitFor();
    await tab.getByRole("button", { name: "Sign out", exact: true }).first().click();
    await tab.getByText("You are logged out.").waitFor();
    await signIn(tab, "ada@example.org", NEW_PASSWORD);
    await account(tab).waitFor();
    await tab.getByText("I want to delete my account").click();
    await form(tab, "delete-account").getByLabel("Password", { exact: true }).fill(NEW_PASSWORD);
    await tab.getByRole("button", { name: "Delete my account" }).click();
    await tab.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(tab, "ada@example.org", NEW_PASSWORD);
    await tab.locator("[aria-invalid], .result.bad:not(:empty)").first().waitFor();
    // Before a login and after one that fails, the browser reports each 401; nothing else.
    expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
  });

  it("keeps the input of other forms when one is saved, and empties its passwords", async () => {
    const { tab } = await openAccount();
    const inputs = form(tab, "change-password").locator("input[type=password]");
    await inputs.nth(0).fill(USER.password);
    await inputs.nth(1).fill(NEW_PASSWORD);
    await tab.getByLabel("Name").fill("Ada Byron");
    await tab.getByRole("button", { name: "Save name" }).click();
    await tab.locator(".who").getByText("Ada Byron").waitFor();
    await form(tab, "profile").getByText("Your name is changed.").waitFor();
    await tab.getByRole("button", { name: "Change password" }).click();
    await form(tab, "change-password").getByText("Your password is changed.").waitFor();
    expect([await inputs.nth(0).inputValue(), await inputs.nth(1).inputValue()]).toEqual(["", ""]);
    await tab.getByLabel("Name").fill("Ada");
    expect(await form(tab, "profile").locator(".result").innerText()).toBe("");
  });

  it("sets a forgotten password by the link of a mail", async () => {
    const email = await newUser();
    const { tab } = await open();
    await tab.getByRole("link", { name: "Forgot your password?" }).click();
    await tab.getByLabel("E-mail address").fill(email);
    await tab.getByRole("button", { name: "Send link" }).click();
    await tab.getByText("If an account has this address, a mail is on its way.").waitFor();
    await eventually("the mail", () => expect(mail.mails.at(-1)?.to).toEqual([email]));
    const { tab: other } = await open(`#reset=${tokenOf(mail, "reset")}`);
    expect(other.url()).not.toContain("reset");
    await other.getByLabel("New password", { exact: true }).fill("password");
    await other.getByRole("button", { name: "Set password" }).click();
    await other.locator("#reset-newPassword[aria-invalid]").waitFor();
    await other.getByLabel("New password", { exact: true }).fill(NEW_PASSWORD);
    await other.getByRole("button", { name: "Set password" }).click();
    await other.getByText("Your password is set. Log in with it.").waitFor();
    await signIn(other, email, NEW_PASSWORD);
    await account(other).waitFor();
  });

  it("verifies an address after the login that the link needs", async () => {
    const { tab, email } = await openAccount();
    await tab.getByRole("button", { name: "Send verification mail" }).click();
    await tab.getByText("A mail is on its way. Open its link.").waitFor();
    const { tab: other } = await open(`#verify=${tokenOf(mail, "verify")}`);
    await other.getByText("Sign in to verify your e-mail address.").waitFor();
    await signIn(other, email);
    await other.getByText("Your e-mail address is verified.").waitFor();
  });

  it("shows each error next to its input, and leads the focus to the first", async () => {
    const email = await newUser();
    const { tab } = await open("#/register");
    await tab.getByRole("button", { name: "Create account" }).click();
    expect(await tab.locator("#register-avatar-error").innerText()).toBe("Picture is missing.");
    expect(await tab.evaluate("document.activeElement.id")).toBe("register-avatar");
    await tab.getByLabel("Picture").setInputFiles({ ...IMAGE, buffer: Buffer.from("no image") });
    await tab.getByLabel("E-mail address").fill("no address");
    await tab.getByLabel("Password", { exact: true }).fill("password");
    await tab.getByRole("button", { name: "Create account" }).click();
    await tab.locator("#register-email[aria-invalid]").waitFor();
    for (const name of ["email", "password"]) {
      const input = tab.locator(`#register-${name}`);
      expect(await input.getAttribute("aria-describedby")).toContain(`register-${name}-error`);
      expect(await tab.locator(`#register-${name}-error`).innerText()).not.toBe("");
    }
    expect(await tab.evaluate("document.activeElement.id")).toBe("register-email");
    await tab.getByLabel("E-mail address").fill(email);
    expect(await tab.locator("#register-email[aria-invalid]").count()).toBe(0);
    await tab.getByLabel("Password", { exact: true }).fill(USER.password);
    await tab.getByRole("button", { name: "Create account" }).click();
    await tab.locator("#register-email[aria-invalid]").waitFor(); // The address is taken.
  });

  it("lists sessions, ends one, and notices the end in that browser", async () => {
    const { tab, email } = await openAccount();
    const { tab: other } = await open();
    await signIn(other, email);
    await account(other).waitFor();
    await tab.reload();
    const entries = tab.locator(".sessions li");
    await eventually("both sessions", async () => expect(await entries.count()).toBe(2));
    expect(await entries.filter({ hasText: "this browser" }).innerText()).toContain("Chrome on Linux");
    await entries.filter({ hasNotText: "this browser" }).getByRole("button").click();
    await eventually("one session", async () => expect(await entries.count()).toBe(1));
    await other.getByLabel("Name").fill("Eve");
    await other.getByRole("button", { name: "Save name" }).click();
    await other.getByText("Your session has ended. Sign in again.").waitFor();
    const described = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent";
    expect(await other.evaluate(described)).toBe("Your session has ended. Sign in again.");
    await tab.getByRole("button", { name: "Sign out everywhere" }).click();
    await tab.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("keeps two tabs signed in that refresh at the same time", async () => {
    const { tab } = await openAccount();
    const { tab: other } = await open("", tab.context());
    await account(other).waitFor();
    service.advance(3_600_000); // Longer than an access token lives.
    let refreshes = 0;
    tab.context().on("response", (response) => {
      if (response.url().endsWith("/refresh-token")) refreshes += Number(response.ok());
    });
    await Promise.all([tab.reload(), other.reload()]);
    await Promise.all([account(tab).waitFor(), account(other).waitFor()]);
    await Promise.all([tab.locator(".sessions li").waitFor(), other.locator(".sessions li").waitFor()]);
    expect(refreshes).toBe(2); // One of each tab; the second is within the grace.
  });

  it("says that it is offline, and works again when it is not", async () => {
    const email = await newUser();
    const { tab } = await open();
    await tab.context().setOffline(true);
    await tab.getByRole("status").getByText("You are offline.").waitFor();
    await signIn(tab, email);
    await tab.getByText("The service cannot be reached. Check your connection and try again.").waitFor();
    await tab.clock.install();
    await tab.clock.fastForward(60_000);
    expect(await tab.getByRole("status").innerText()).toBe("You are offline.");
    await tab.context().setOffline(false);
    await tab.getByRole("status").getByText("You are online again.").waitFor();
    await tab.clock.fastForward(15_000);
    expect(await tab.getByRole("status").innerText()).toBe("");
    await tab.getByRole("button", { name: "Sign in" }).click();
    await account(tab).waitFor();
  });

  it("waits while the service is busy, and says how long a limit lasts", async () => {
    const email = await newUser();
    const { tab } = await open();
    const answers = [
      { status: 503, headers: { "Retry-After": "1" }, json: { code: "busy", message: "The service is busy." } },
      { status: 429, headers: { "Retry-After": "60" }, json: { code: "rate_limited", message: "Too many attempts." } },
    ];
    await tab.route("**/login", async (route) => {
      const answer = answers.shift();
      await (answer === undefined ? route.continue() : route.fulfill(answer));
    });
    await signIn(tab, email);
    await tab.getByRole("status").getByText("The service is busy. Trying again in 1 s…").waitFor();
    await tab.getByText("Too many attempts. Try again in 60 s.").waitFor();
    expect(await tab.getByRole("status").innerText()).toBe("");
    await tab.getByRole("button", { name: "Sign in" }).click();
    await account(tab).waitFor();
  });

  it("offers to try again when the service does not answer at the start", async () => {
    const { tab } = await openAccount();
    let isDown = true;
    await tab.route("**/api/**", async (route) => await (isDown ? route.abort() : route.continue()));
    await tab.reload();
    await tab.getByRole("alert").getByText("The service cannot be reached.").waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    isDown = false;
    await tab.getByRole("button", { name: "Try again" }).click();
    await account(tab).waitFor();
  });

  it("recognises a signed-in user who comes from another site, without the cookies of SameSite=Strict", async () => {
    const { tab } = await openAccount();
    await tab.route("http://example.com/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="http://localhost:${service.port}/">Account</a>` }),
    );
    await tab.goto("http://example.com/");
    const document = tab.waitForResponse(`http://localhost:${service.port}/`);
    await tab.getByRole("link").click();
    const { cookie } = await (await document).request().allHeaders();
    expect(cookie).toBeUndefined();
    await account(tab).waitFor();
  });

  it("shows the login under its own address when the one after a registration fails", async () => {
    const { tab } = await open("#/register");
    await tab.route("**/login", (route) => route.abort());
    await tab.getByLabel("Picture").setInputFiles(IMAGE);
    await tab.getByLabel("E-mail address").fill("late@example.com");
    await tab.getByLabel("Password", { exact: true }).fill(USER.password);
    await tab.getByRole("button", { name: "Create account" }).click();
    await tab.getByText("Your account is ready. Log in to use it.").waitFor();
    expect(tab.url()).toBe(`http://localhost:${service.port}/#/`);
    await tab.getByRole("link", { name: "Create an account" }).click();
    await tab.getByRole("heading", { name: "Create an account" }).waitFor();
  });

  it("shows the progress of a slow upload, and cancels it", async () => {
    const { tab } = await openAccount();
    const session = await tab.context().newCDPSession(tab);
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 100_000 };
    await session.send("Network.emulateNetworkConditions", slow);
    const large = Buffer.concat([png(), Buffer.alloc(1_000_000)]);
    await tab.getByLabel("New picture").setInputFiles({ ...IMAGE, buffer: large });
    await tab.getByRole("button", { name: "Save picture" }).click();
    const progress = tab.getByRole("progressbar", { name: "Upload" });
    await eventually("some progress", async () => {
      expect(await tab.evaluate("document.querySelector('progress')?.value ?? 0")).toBeGreaterThan(0);
    });
    expect(await violationsOf(tab)).toEqual([]);
    await tab.getByRole("button", { name: "Cancel" }).click();
    await tab.getByText("Cancelled.").waitFor();
    expect(await progress.count()).toBe(0);
  });

  it("offers no cancellation of an upload that the service has", async () => {
    const { tab } = await openAccount();
    const session = await tab.context().newCDPSession(tab);
    const late = { offline: false, latency: 3000, downloadThroughput: -1, uploadThroughput: -1 };
    await session.send("Network.emulateNetworkConditions", late);
    await tab.getByLabel("New picture").setInputFiles(IMAGE);
    await tab.getByRole("button", { name: "Save picture" }).click();
    await tab.getByText("Checking the image…").waitFor();
    expect(await tab.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    await form(tab, "picture").getByText("Your avatar is changed.").waitFor();
  });

  it("is used with the keyboard, and shows and hides a password", async () => {
    const email = await newUser();
    const { tab } = await open();
    const keys = tab.keyboard;
    await keys.press("Tab");
    await keys.type(email);
    await keys.press("Tab");
    await keys.type(USER.password);
    await keys.press("Tab");
    await keys.press("Enter");
    expect(await tab.locator("#sign-in-password").getAttribute("type")).toBe("text");
    expect(await tab.getByRole("button", { name: "Hide password", exact: true }).innerText()).toBe("Hide");
    await keys.press("Enter");
    expect(await tab.getByRole("button", { name: "Show password", exact: true }).innerText()).toBe("Show");
    expect(await tab.locator("#sign-in-password").getAttribute("type")).toBe("password");
    await keys.press("Tab");
    await keys.press("Enter");
    await account(tab).waitFor();
    expect(await tab.evaluate("document.activeElement.textContent")).toBe("Your account");
  });

  it("has the inputs that password managers look for", async () => {
    const { tab, email } = await openAccount();
    const inputs = await tab.evaluate<string[]>(
      "[...document.querySelectorAll('#change-password input')].map((each) => each.autocomplete + ' ' + each.value)",
    );
    expect(inputs).toEqual([`username ${email}`, "current-password ", "new-password "]);
    const { tab: other } = await open("#/register");
    expect(
      await other.evaluate("[...document.querySelectorAll('#register input')].map((each) => each.autocomplete)"),
    ).toEqual(["", "name", "username", "new-password"]);
  });

  const VIEWS = [
    { name: "the login", view: "" },
    { name: "the registration", view: "#/register" },
    { name: "a forgotten password", view: "#/forgot" },
    { name: "a new password", view: `#reset=${"a".repeat(64)}` },
    { name: "the account", view: "account" },
  ] as const;

  describe.each(VIEWS)("for $name", ({ view }) => {
    it.each([
      { width: 1280, colorScheme: "light" },
      { width: 1280, colorScheme: "dark" },
      { width: 320, colorScheme: "light" },
      { width: 320, colorScheme: "dark" },
    ] as const)("fits into $width px, and is accessible in $colorScheme colours", async ({ width, colorScheme }) => {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
      const { tab, complaints } = await open(view === "account" ? "" : view, context);
      if (view === "account") {
        await signIn(tab, await newUser());
        await account(tab).waitFor();
        await tab.locator(".sessions li").waitFor();
        for (const details of await tab.locator("summary").all()) await details.click();
      }
      const ids = await tab.evaluate<string[]>("[...document.querySelectorAll('[id]')].map(({ id }) => id)");
      expect(ids.length).toBe(new Set(ids).size);
      const scan = async (): Promise<void> => {
        expect(await violationsOf(tab)).toEqual([]);
        expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(width);
      };
      await scan();
      // With its errors.
      await tab.locator("button.primary, button.danger").last().click();
      await tab.locator("[aria-invalid]").first().waitFor();
      await scan();
      expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
      await context.close();
    });
  });

  it("is small, and asks no other server", async () => {
    const asked: string[] = [];
    let bytes = 0;
    const tab = await browser.newPage();
    tab.on("response", (response) => {
      asked.push(response.url());
      bytes += response.url().includes("/api/") ? 0 : Number(response.headers()["content-length"]);
    });
    await tab.goto(`http://localhost:${service.port}/`, { waitUntil: "networkidle" });
    const paths = new Set(asked.map((url) => url.replace(`http://localhost:${service.port}`, "")));
    expect([...paths].toSorted()).toEqual(["/", "/page/icon.svg", "/page/page.css", "/page/page.js"]);
    expect(bytes).toBeLessThanOrEqual(SIZE_MAX_BYTES);
  });

  it("runs no code but its own, in no frame", async () => {
    const { headers } = await service.call({ path: "/" });
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": [
        `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'`,
        `img-src 'self' blob: http://localhost:${service.port}; base-uri 'none'; form-action 'none'`,
        `frame-ancestors 'none'; require-trusted-types-for 'script'`,
      ].join("; "),
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
  });

  it("is not there with PAGE=false; the client is", async () => {
    const other = await startService({ PAGE: "false" });
    const statusOf = async (path: string): Promise<number> => (await other.call({ path })).status;
    expect([await statusOf("/"), await statusOf("/page/page.js"), await statusOf("/client.js")]).toEqual([
      404, 404, 200,
    ]);
    await other.stop();
  });
});
