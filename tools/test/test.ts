// `make test`: prepares the machine and builds, then runs all tests, and the gates in the time in
// which tests wait; each to its end. The last line counts everything.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { formatGateResult, type Gate, listGates, runGates } from "../gates/gates.ts";
import { runCommand } from "../run-command.ts";
import { REPORT_FILE_VARIABLE } from "./tally-reporter.ts";
import type { RunReport, Tally } from "./test-report.ts";
import { addTallies, formatFailures, formatTally, tallyTests } from "./test-report.ts";
import { SetupError, setUpTests } from "./test-setup.ts";

/** The folder and the file in which the tests leave their report for this program. */
const REPORT_FOLDER = "node_modules/.cache/weir";
const REPORT_FILE = `${REPORT_FOLDER}/tests.json`;

/** The file in which this program leaves the closing line for .ci/run. */
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

/** Runs gates and calls `print` with the line of each as it ends. */
async function check(gates: readonly Gate[], print: (line: string) => void): Promise<Tally> {
  const results = await runGates(gates, (result) => print(formatGateResult(result)));
  const failed = results.filter((result) => result.code !== 0).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

/** Every gate, as a process that takes only time that no test wants. */
function backgroundGates(): readonly Gate[] {
  // The linter's memory is for one's desk; here everything is looked at afresh.
  return listGates({ cache: false }).map(({ name, command }) => ({ name, command: ["nice", "-n", "19", ...command] }));
}

/** Runs all tests; resolves with their number and the names of those that failed. */
async function test(): Promise<{ readonly tally: Tally; readonly failures: string }> {
  console.log("==> Testing");
  rmSync(REPORT_FILE, { force: true });
  mkdirSync(REPORT_FOLDER, { recursive: true });
  const reporters = ["--reporter=default", "--reporter=./tools/test/tally-reporter.ts"];
  process.env[REPORT_FILE_VARIABLE] = REPORT_FILE;
  const { code } = await runCommand(["vitest", "run", "--project", "!soak", ...reporters], { output: "pass" });
  const report = existsSync(REPORT_FILE) ? (JSON.parse(readFileSync(REPORT_FILE, "utf8")) as RunReport) : undefined;
  const failures = report === undefined ? "" : formatFailures(report);
  return { tally: tallyTests(report, code), failures };
}

/**
 * Builds, since tests start the programs, then tests and checks. Failures are printed last: no reader
 * should have to search the output for them.
 */
async function buildAndTest(): Promise<readonly Tally[]> {
  console.log("==> Building");
  const build = [
    { name: "build", command: ["tsc", "-b", "tsconfig.build.json"] },
    { name: "pages", command: ["node", "tools/pages/build-pages.ts"] },
  ];
  const built = await check(build, console.log);
  const gates = backgroundGates();
  const lines: string[] = [];
  const checking = check(gates, (line) => lines.push(line));
  const { tally: tested, failures } = await test();
  const checked = await checking;
  console.log(`==> Checked (${gates.length} gates)\n${lines.join("\n")}`);
  if (failures !== "") console.log(`==> Failed\n${failures}`);
  return [built, checked, tested];
}

const startedMs = performance.now();
const unprepared = await prepare();
const total = unprepared ?? addTallies(await buildAndTest());
console.log(`==> Finished in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
mkdirSync(REPORT_FOLDER, { recursive: true });
writeFileSync(TALLY_FILE, `${formatTally(total)}\n`);
console.log(formatTally(total));
process.exitCode = total.failed > 0 ? 1 : 0;
