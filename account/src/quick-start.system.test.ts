// The page of docs/account-quick-start.md in a real browser, served from another origin than the service.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { findCodeBlocks } from "@weir/harness/pages/code-blocks";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { eventually } from "@weir/harness/processes/eventually";
import { startBrowser } from "@weir/harness/weir/browser";
import { afterAll, beforeAll, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import { type RunningService, startService, USER } from "./running-service.suite.ts";

const PAGE = "docs/account-quick-start.md";

const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", html: "text/html" };

/** The files that the page shows, by their names. */
function shownFiles(): ReadonlyMap<string, { readonly language: string; readonly text: string }> {
  const text = readFileSync(new URL(`../../${PAGE}`, import.meta.url), "utf8");
  return new Map(
    findCodeBlocks(PAGE, text).flatMap((block) =>
      block.directives.flatMap((directive) => (directive.kind === "file" ? [[directive.name, block] as const] : [])),
    ),
  );
}

const folder = makeTemporaryFolder();
let browser: Awaited<ReturnType<typeof startBrowser>>;
let frontEnd: Server;
let service: RunningService;
let url: string;

beforeAll(async () => {
  const files = shownFiles();
  frontEnd = createServer((request, response) => {
    const file = files.get(request.url === "/" ? "index.html" : (request.url ?? "").slice(1));
    if (file === undefined) return void response.writeHead(404).end();
    const text = file.text.replaceAll("http://localhost:8000", `http://localhost:${service.port}`);
    response.writeHead(200, { "Content-Type": TYPES[file.language] }).end(text);
  });
  await once(frontEnd.listen(0, "localhost"), "listening");
  url = `http://localhost:${(frontEnd.address() as AddressInfo).port}`;
  service = await startService({ CORS_ORIGINS: url });
  browser = await startBrowser();
  writeFileSync(join(folder.path, "me.png"), png());
});

afterAll(async () => {
  await browser.close();
  await service.stop();
  frontEnd.close();
  folder.remove();
});

it("registers, logs in, refreshes an expired token, logs out, and shows errors at their inputs", async () => {
  const page = await browser.newPage();
  await page.goto(url);
  const says = async (text: string): Promise<void> => {
    await page.getByRole("status").getByText(text, { exact: true }).waitFor();
  };
  const register = page.locator("#register");
  await register.getByLabel("E-mail").fill(USER.email);
  await register.getByLabel("Password").fill("sunshine2024");
  await register.getByLabel("Avatar").setInputFiles(join(folder.path, "me.png"));
  await register.locator("button").click();
  await says("This password is among the most used ones, or one of them with digits or signs. Choose another.");
  const complaint = "document.querySelector('#register [name=password]').validationMessage";
  expect(await page.evaluate(complaint)).toBe(await page.getByRole("status").innerText());
  await register.getByLabel("Name").fill("x".repeat(81));
  await register.locator("button").click();
  await eventually("both complaints", async () => {
    expect(await page.evaluate("document.querySelectorAll('#register input:invalid').length")).toBe(2);
  });
  // The browser sends the form only when no input has a complaint.
  await register.getByLabel("Name").fill("Ada");
  expect(await page.evaluate("document.getElementById('register').checkValidity()")).toBe(true);
  await register.getByLabel("Password").fill(USER.password);
  await register.locator("button").click();
  await says("Your account is ready. Log in to use it.");

  await page.getByRole("button", { name: "Who am I?" }).click();
  await says("You are not logged in.");
  const login = page.locator("#login");
  await login.getByLabel("E-mail").fill(USER.email);
  await login.getByLabel("Password").fill(USER.password);
  await login.locator("button").click();
  await says("You are logged in.");

  service.advance(3_600_000);
  await page.getByRole("button", { name: "Who am I?" }).click();
  await says(USER.email);
  await page.getByRole("button", { name: "Log out" }).click();
  await says("You are logged out.");
  await page.getByRole("button", { name: "Who am I?" }).click();
  await says("You are not logged in.");
  await page.close();
});

it("logs in with the client of the service, and shows why not", async () => {
  const email = "b@x.com";
  await service.register({ ...USER, email });
  const page = await browser.newPage();
  await page.goto(`${url}/client.html`);
  await page.getByLabel("E-mail").fill(email);
  for (const [password, text] of [
    ["not the password", "The e-mail address or the password is incorrect."],
    [USER.password, `You are ${email}.`],
  ] as const) {
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button").click();
    await page.getByRole("status").getByText(text, { exact: true }).waitFor();
  }
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.close();
});
