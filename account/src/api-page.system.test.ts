// The commands of docs/account-api.md, with curl as they are on the page.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import { type RunningService, startService } from "./running-service.suite.ts";

const PAGE = readFileSync(new URL("../../docs/account-api.md", import.meta.url), "utf8");

/** A section of a call: its name, command, and the status of its answer. */
const CALL = /^### (\w+)\n(?:(?!^### )[^])*?^```sh\n([^]*?)^```\n\nAnswers (\d+)/gm;
const CALLS = [...PAGE.matchAll(CALL)].map(([, name = "", command = "", status = ""]) => ({ name, command, status }));

let folder: ReturnType<typeof makeTemporaryFolder>;
let service: RunningService;

beforeEach(async () => {
  service = await startService({ MAIL: "log" });
  folder = makeTemporaryFolder();
  writeFileSync(join(folder.path, "avatar.png"), png());
});

afterEach(async () => {
  await service.stop();
  folder.remove();
});

/** Runs the command of a call, and gives the status and the JSON of its answer. */
async function run(name: string): Promise<{ readonly status: string; readonly body: unknown }> {
  const { command = "" } = CALLS.find((call) => call.name === name) ?? {};
  const script = command
    .replace("TOKEN", newestToken())
    .replaceAll("http://localhost:8000", `http://localhost:${service.port}`)
    .replace(/^curl -sS/m, "curl -sS -w '\\n%{http_code}'");
  const options = { cwd: folder.path, timeout: 30_000 };
  const { stdout } = await promisify(execFile)("bash", ["-euc", script], options);
  const at = stdout.lastIndexOf("\n");
  return { status: stdout.slice(at + 1), body: JSON.parse(stdout.slice(0, at)) as unknown };
}

/** The token of the newest mail, or of none. */
function newestToken(): string {
  const mails = service.logLines.filter((line) => line.includes("Mail, not sent"));
  return /#(?:verify|reset)=([\w-]{64})/.exec(mails.at(-1) ?? "")?.[1] ?? "";
}

/** The calls before one that needs more than a session. */
const BEFORE: Readonly<Record<string, string>> = { verifyEmail: "sendVerification", resetPassword: "forgotPassword" };

it("has every call of the document", () => {
  const document = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(CALLS.map(({ name }) => name).sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
});

it.each(CALLS)("$name is answered as the page says", async ({ name, status }) => {
  if (name !== "register") for (const before of ["register", "login"]) await run(before);
  const mailed = BEFORE[name];
  if (mailed !== undefined) {
    await run(mailed);
    await eventually("the mail", () => expect(newestToken()).not.toBe(""));
  }
  expect((await run(name)).status).toBe(status);
});
