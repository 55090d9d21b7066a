// Tests of the page of the console in a real browser: every view, hostile texts, other origins, a control plane that ends.
import { request } from "node:http";

import { eventually } from "@weir/harness/processes/eventually";
import { startBrowser } from "@weir/harness/weir/browser";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { DOMAIN, HOSTILE_TEXTS, WatchedFleet } from "./console/watched-fleet.suite.ts";

const RULE = `#/rule/web/${DOMAIN}/${encodeURIComponent(`${DOMAIN}.user_${HOSTILE_TEXTS[0]}`)}`;

const TRY = `#/try?${new URLSearchParams([
  ["fleet", "web"],
  ["domain", DOMAIN],
  ["descriptor", `user=${HOSTILE_TEXTS[1]}`],
  ["descriptor", "path=/,user=ada"],
]).toString()}`;

/** Each view, and a table that it has when pods have reported. */
const VIEWS = [
  { view: "#/", has: "Rules with most rejections in the last ten minutes" },
  { view: RULE, has: "Keys with most hits" },
  { view: TRY, has: "Descriptor 1, level 1" },
  { view: "#/rollouts", has: "Last changes" },
] as const;

type Browser = Awaited<ReturnType<typeof startBrowser>>;

describe("page of the console", () => {
  let browser: Browser;
  let fleet: WatchedFleet;

  beforeAll(async () => {
    [browser, fleet] = await Promise.all([startBrowser(), WatchedFleet.start()]);
    await fleet.addPod("web/pod-1");
    await fleet.addSilentPod("web/reference-1");
    await fleet.addSilentPod("web/old-1", () => `default/${DOMAIN}: ${HOSTILE_TEXTS[0]}`);
    await fleet.addResource("late", "late", ["new"]);
  });

  afterAll(async () => {
    await browser.close();
    await fleet.stop();
  });

  /** A page with a view that pods have filled, and what the browser complains of. */
  async function open(view: string, has: string, options: Parameters<Browser["newPage"]>[0] = {}) {
    const page = await browser.newPage(options);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(`http://127.0.0.1:${fleet.port}/${view}`);
    await page.getByRole("table", { name: has, exact: true }).waitFor();
    return { page, complaints };
  }

  describe.each(VIEWS)("$view", ({ view, has }) => {
    it.each([
      { width: 1280, colorScheme: "light" },
      { width: 1280, colorScheme: "dark" },
      { width: 360, colorScheme: "light" },
      { width: 360, colorScheme: "dark" },
    ] as const)("fits into $width px, and is accessible in $colorScheme colours", async ({ width, colorScheme }) => {
      const { page, complaints } = await open(view, has, { viewport: { width, height: 800 }, colorScheme });
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(
        await page.evaluate("[window.hacked, document.querySelectorAll('img, iframe, script:not([src])').length]"),
      ).toEqual([undefined, 0]);
      expect(complaints).toEqual([]);
      await page.close();
    });
  });

  it("shows values of descriptors as texts", async () => {
    const { page } = await open(RULE, "Keys with most rejections");
    const shown = await page.getByRole("table", { name: "Keys with most rejections" }).innerText();
    for (const text of HOSTILE_TEXTS)
      expect(shown).toContain(
        `user=${text.replaceAll(/[\u202e\u2066]/g, (mark) => `\\u{${mark.charCodeAt(0).toString(16)}}`)}`,
      );
    expect(shown).toContain(String.raw`user=\u{0}\u{7}\u{1b}[31m`);
    await page.getByText("5 per minute").waitFor();
    await page.getByText("1 of 3 pods; no data of the others, which do not report what they count").waitFor();
    await page.close();
  });

  it("leads from a rule to its counts, and from there to its resource, by the keyboard", async () => {
    const { page } = await open("#/", VIEWS[0].has);
    const link = page.getByRole("link", { name: `${DOMAIN}.user_tenant-19` });
    await link.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `${DOMAIN}.user_tenant-19` }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Resources" }).waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe(`default/${DOMAIN}`);
    expect(await page.getByRole("table", { name: "Resources" }).innerText()).toContain(
      `web/old-1 has NACKed it\ndefault/${DOMAIN}: ${HOSTILE_TEXTS[0]}`,
    );
    await page.getByRole("searchbox").fill("no such name");
    await eventually("no resource", async () => {
      expect(await page.getByRole("table", { name: "Resources" }).count()).toBe(0);
    });
    expect(page.url()).toContain("#/rollouts?filter=no%20such%20name");
    await page.close();
  });

  it("explains the request of a form, filled in by the keyboard", async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${fleet.port}/#/try`);
    const keys = page.keyboard;
    await page.getByLabel("Fleet").focus();
    await keys.type("web");
    await keys.press("Tab");
    await keys.type("mail");
    await keys.press("Tab");
    await keys.type("user=free\nuser=other\nuser");
    await keys.press("Tab");
    await keys.press("Enter");
    expect(await page.getByRole("alert").innerText()).toBe('an entry must be key=value, is "user" in "user"');
    await page.getByLabel("Descriptors").fill("user=free\nuser=other");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("table", { name: "Descriptor 2, level 1" }).waitFor();
    expect(page.url()).toContain("#/try?fleet=web&domain=mail&descriptor=user%3Dfree&descriptor=user%3Dother");
    const [limited, other] = [1, 2].map((index) => page.getByRole("region", { name: `Descriptor ${index}` }));
    expect((await limited?.innerText())?.split(/\s*[\n\t]\s*/)).toEqual([
      ...["Descriptor 1", "user=free", "Result", "limited", "Rule", "mail.user_free", "Limit", "5 per minute"],
      ...["Counter", expect.stringMatching(/^mail_user_free_\d+$/)],
      ...["Count now", "3 of 5 used, 2 left, resets in 12 s", "Level 1: user=free", "Rule", "Why"],
      ...["user_free", "taken: exactly this value", "user_paid", "another value"],
    ]);
    expect(await other?.innerText()).toContain("no rule of level 1 matches; other rules are not tried again");
    expect(await page.getByLabel("Descriptors").inputValue()).toBe("user=free\nuser=other");
    await page
      .getByText("kubectl weir explain -A --fleet web --domain mail -d user=free -d user=other --counts")
      .waitFor();
    await page.getByRole("link", { name: "mail.user_free" }).click();
    await page.getByRole("heading", { name: "mail.user_free" }).waitFor();
    await page.close();
  });

  it("shows the present counts as a pod reads them, and why there are none", async () => {
    const page = await browser.newPage();
    const openTry = async (name: string, ...users: readonly string[]): Promise<void> => {
      const values = users.map((user) => ["descriptor", `user=${user}`]);
      const query = new URLSearchParams([["fleet", name], ["domain", DOMAIN], ...values]);
      await page.goto(`http://127.0.0.1:${fleet.port}/#/try?${query.toString()}`);
    };
    await openTry("web", "tenant-1", "tenant-19");
    await page.getByText("as the pod web/pod-1 reads them").waitFor();
    const counts = page.getByText(/ of 5 used/);
    expect(await counts.allInnerTexts()).toEqual([
      "3 of 5 used, 2 left, resets in 12 s",
      "7 of 5 used, none left for 12 s",
    ]);
    await openTry("elsewhere", "tenant-1");
    await page.getByText("not known no pod of the fleet that has the domain").waitFor();
    expect(await counts.count()).toBe(0);
    await page.close();
  });

  it.each([
    { what: "of a domain without rules", domain: "other", descriptor: "a=b", text: "No limit: the fleet has no rules" },
    {
      what: "that is too large",
      domain: "mail",
      descriptor: Array.from({ length: 33 }, () => "a=b").join(","),
      text: "Cannot explain the request: descriptors[0].entries has 33 items, at most 32 are allowed",
    },
  ])("answers to a request $what", async ({ domain, descriptor, text }) => {
    const page = await browser.newPage();
    const query = new URLSearchParams({ fleet: "web", domain, descriptor });
    await page.goto(`http://127.0.0.1:${fleet.port}/#/try?${query.toString()}`);
    await page.getByText(text).waitFor();
    await page.close();
  });

  it("shows what differs between a resource and the revision before", async () => {
    const page = await browser.newPage();
    await fleet.addResource("edited", "edited", ["one"]);
    await fleet.addResource("edited", "edited", ["one", "two"]);
    await page.goto(`http://127.0.0.1:${fleet.port}/#/rule/web/edited/edited.user_one`);
    const region = page.getByRole("region", { name: "Changed since the revision before" });
    await eventually("the difference", async () => {
      expect(await region.innerText()).toMatch(/^\+ +- key: user\n\+ +value: two$/m);
    });
    await page.close();
  });

  it("lists the last changes, the newest first", async () => {
    const { page } = await open("#/rollouts", "Last changes");
    await fleet.addResource("late", "late", ["newer"]);
    const changes = page.getByRole("table", { name: "Last changes" });
    await eventually("the edit", async () => {
      const rows = await changes.locator("tbody tr").allInnerTexts();
      const shown = [rows[0], rows.at(-1)].map((row) => row?.split(/\s*\n\s*/).slice(1, 4));
      expect(shown).toEqual([
        ["default/late", "edited", "every"],
        ["default/late", "added", "every"],
      ]);
    });
    await page.getByRole("searchbox").fill("default/shop");
    await eventually("no change", async () => expect(await changes.count()).toBe(0));
    await page.close();
  });

  it("shows five replicas over the six connections of a browser", async () => {
    const page = await browser.newPage();
    // Five paths of one control plane.
    const bases = ["", "/.", "/./.", "/././.", "/./././."];
    await page.route("**/console/replicas", async (route) => await route.fulfill({ json: bases }));
    let streams = 0;
    page.on("response", (response) => {
      if (response.url().endsWith("/WatchCounts")) streams++;
    });
    await page.goto(`http://127.0.0.1:${fleet.port}/${RULE}`);
    await eventually("every stream", () => expect(streams).toBe(bases.length));
    await page.waitForResponse("**/GetRules"); // It is asked for every few seconds.
    await page.getByText("5 per minute").waitFor();
    expect(await page.getByRole("status").innerText()).toBe("");
    await page.close();
  });

  it("refuses pages of other origins and other names of this machine", async () => {
    const page = await browser.newPage();
    await page.route(
      "http://evil.example/",
      async (route) => await route.fulfill({ body: "<p>", contentType: "text/html" }),
    );
    await page.goto("http://evil.example/");
    const ask = (init: string): Promise<unknown> =>
      page.evaluate(
        `fetch("http://127.0.0.1:${fleet.port}/console/replicas", ${init}).then((answer) => answer.type, String)`,
      );
    expect(await ask("{}")).toBe("TypeError: Failed to fetch");
    await page.close();
    for (const path of [
      "/",
      "/console/console.js",
      "/console/replicas",
      "/weir.console.v1.ConsoleService/WatchCounts",
    ]) {
      expect(await statusOf(path, { host: `evil.example:${fleet.port}` })).toBe(403);
      expect(await statusOf(path, { origin: "http://evil.example" })).toBe(403);
    }
    expect(await statusOf("/", { host: `localhost:${fleet.port}` })).toBe(200);
  });

  it("says that a control plane is silent, keeps what it had, and connects again", async () => {
    const { page } = await open("#/", VIEWS[0].has);
    await fleet.stop();
    await page.getByText(/^No news from .*: .* Connecting again\.$/).waitFor();
    await page.getByText("The server of this page does not answer: it may have ended.").waitFor();
    expect(await page.getByRole("table", { name: VIEWS[0].has }).count()).toBe(1);
    fleet = await WatchedFleet.start({ port: fleet.port });
    await fleet.addPod("web/pod-9");
    await eventually("the new pod without complaints", async () => {
      expect(await page.getByRole("status").innerText()).toBe("");
      expect(await page.getByRole("table", { name: "Pods" }).innerText()).toContain("web/pod-9");
    });
    await page.close();
  });

  async function statusOf(path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
    return await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port: fleet.port, path, headers }, (response) => {
        resolve(response.resume().statusCode);
      })
        .on("error", reject)
        .end();
    });
  }
});
