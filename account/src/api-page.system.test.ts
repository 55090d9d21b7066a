// The commands of docs/account-api.md, with curl as they are on the page.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
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
  service = await startService();
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
    .replaceAll("http://localhost:8000", `http://localhost:${service.port}`)
    .replace(/^curl -sS/m, "curl -sS -w '\\n%{http_code}'");
  const options = { cwd: folder.path, timeout: 30_000 };
  const { stdout } = await promisify(execFile)("bash", ["-euc", script], options);
  const at = stdout.lastIndexOf("\n");
  return { status: stdout.slice(at + 1), body: JSON.parse(stdout.slice(0, at)) as unknown };
}

it("has every call of the document", () => {
  const document = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(CALLS.map(({ name }) => name).sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
});

it.each(CALLS)("$name is answered as the page says", async ({ name, status }) => {
  if (name !== "register") for (const before of ["register", "login"]) await run(before);
  expect((await run(name)).status).toBe(status);
});
