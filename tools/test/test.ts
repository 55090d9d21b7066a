// `make test`: prepares the machine, then runs the gates, the build and all tests, each to its end.
// The last line counts everything.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { formatGateResult, listGates, runGates } from "../gates/gates.ts";
import { runCommand } from "../run-command.ts";
import type { Tally, VitestReport } from "./test-report.ts";
import { addTallies, formatFailures, formatTally, tallyTests } from "./test-report.ts";
import { SetupError, setUpTests } from "./test-setup.ts";

/** Where vitest leaves its report for this program. */
const REPORT_FOLDER = "node_modules/.cache/weir";
const REPORT_FILE = `${REPORT_FOLDER}/vitest.json`;

/** Where the closing line is left for .ci/run. */
const TALLY_FILE = `${REPORT_FOLDER}/tally`;

async function prepare(): Promise<Tally | undefined> {
  console.log("==> Preparing what the tests need");
  try {
    await setUpTests((line) => {
      console.log(`    ${line}`);
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.log(error.message);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** The gates and the build, which counts as one more. */
async function check(): Promise<Tally> {
  // The linter's memory is for one's desk; here everything is looked at afresh.
  const gates = [...listGates({ cache: false }), { name: "build", command: ["tsc", "-b", "tsconfig.build.json"] }];
  console.log(`==> Checking (${gates.length} gates)`);
  const results = await runGates(gates, (result) => {
    console.log(formatGateResult(result));
  });
  const failed = results.filter((result) => result.code !== 0).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

/**
 * Runs all tests. The names of those that failed come last: no reader should have to search the output
 * for them.
 */
async function test(): Promise<Tally> {
  console.log("==> Testing");
  rmSync(REPORT_FILE, { force: true });
  mkdirSync(REPORT_FOLDER, { recursive: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORT_FILE}`];
  const { code } = await runCommand(["vitest", "run", "--project", "!soak", ...reporters], { output: "pass" });
  const report = existsSync(REPORT_FILE) ? (JSON.parse(readFileSync(REPORT_FILE, "utf8")) as VitestReport) : undefined;
  const failures = report === undefined ? "" : formatFailures(report, process.cwd());
  if (failures !== "") console.log(`==> Failed\n${failures}`);
  return tallyTests(report, code);
}

const startedMs = performance.now();
const unprepared = await prepare();
const total = unprepared ?? addTallies([await check(), await test()]);
console.log(`==> Finished in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
mkdirSync(REPORT_FOLDER, { recursive: true });
writeFileSync(TALLY_FILE, `${formatTally(total)}\n`);
console.log(formatTally(total));
process.exitCode = total.failed > 0 ? 1 : 0;
