// The report of a real run of vitest over files that fail in every way.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { REPORT_FILE_VARIABLE } from "./tally-reporter.ts";
import type { RunReport } from "./test-report.ts";

const FILES = {
  "broken.test.ts": `throw new Error("cannot be loaded");`,
  "empty.test.ts": `export {};`,
  "hook.test.ts": `
    import { beforeAll, describe, it } from "vitest";
    describe("outer", () => {
      describe("inner", () => {
        beforeAll(() => Promise.reject(new Error("does not start")));
        it("needs it", () => {});
      });
    });`,
  "mixed.test.ts": `
    import { describe, expect, it } from "vitest";
    describe("add()", () => {
      it("adds", () => {});
      it("carries", () => expect(1).toBe(2));
      it.skip("waits", () => {}); // For the report of what is skipped; this text is a file of the test.
    });`,
} as const;

it("reports every kind of failure with where it is and its message", async () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-reporter-"));
  try {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
    const report = join(folder, "report.json");
    const vitest = resolve("node_modules/.bin/vitest");
    const reporter = resolve("tools/test/tally-reporter.ts");
    const args = ["run", "--root", folder, "--reporter", reporter];
    const env = { ...process.env, [REPORT_FILE_VARIABLE]: report };
    await expect(promisify(execFile)(vitest, args, { env, cwd: folder })).rejects.toMatchObject({ code: 1 });
    const { passed, skipped, notRun, failures } = JSON.parse(readFileSync(report, "utf8")) as RunReport;
    expect({ passed, skipped, notRun }).toEqual({ passed: 1, skipped: 1, notRun: 1 });
    expect(failures.map(({ names, message }) => [names.join(" > "), message.split("\n", 1)[0]]).toSorted()).toEqual([
      ["broken.test.ts", "cannot be loaded"],
      ["empty.test.ts", expect.stringContaining("No test")],
      ["hook.test.ts > outer > inner", "does not start"],
      ["mixed.test.ts > add() > carries", "expected 1 to be 2 // Object.is equality"],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
