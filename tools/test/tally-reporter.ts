// Vitest calls this reporter: it writes counts, and each failure with its message, for the end of the
// output. The report in JSON that vitest has itself lacks failures of hooks inside a suite.
import { writeFileSync } from "node:fs";
import type { Reporter, TestModule, TestSuite } from "vitest/node";
import type { Failure, RunReport } from "./test-report.ts";

/** Names the file that the report is written to. */
export const REPORT_FILE_VARIABLE = "WEIR_TEST_REPORT";

/** The reporter, of the run as a whole. */
// eslint-disable-next-line no-restricted-syntax -- vitest loads the default export of a reporter
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const path = process.env[REPORT_FILE_VARIABLE];
    if (path === undefined) throw new Error(`${REPORT_FILE_VARIABLE} names no file`);
    const errors = unhandled.map(({ message }) => ({ names: ["outside of tests"], message }));
    writeFileSync(path, JSON.stringify(reportOf(modules, errors)));
  }
}

/** The report of all files, and of errors that belong to none. */
function reportOf(modules: readonly TestModule[], unhandled: readonly Failure[]): RunReport {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const passed = tests.filter((test) => test.result().state === "passed").length;
  const skipped = tests.filter((test) => test.result().state === "skipped");
  const notRun = skipped.filter((test) => hasFailed(test.parent)).length;
  return {
    passed,
    skipped: skipped.length - notRun,
    notRun,
    failures: [...modules.flatMap(failuresOf), ...unhandled],
  };
}

function failuresOf(module: TestModule): readonly Failure[] {
  const file = module.relativeModuleId;
  const suites = [...module.children.allSuites()];
  const tests = [...module.children.allTests()];
  return [
    ...module.errors().map(({ message }) => ({ names: [file], message })),
    ...suites.flatMap((suite) => suite.errors().map(({ message }) => ({ names: [file, ...titlesOf(suite)], message }))),
    ...tests
      .filter((test) => test.result().state === "failed")
      .map((test) => ({
        names: [file, ...titlesOf(test.parent), test.name],
        message: test.result().errors?.[0]?.message ?? "",
      })),
  ];
}

/** Returns true if a hook of the suite, or of one around it, failed: its tests are skipped then. */
function hasFailed(suite: TestModule | TestSuite): boolean {
  return suite.errors().length > 0 || (suite.type === "suite" && hasFailed(suite.parent));
}

function titlesOf(suite: TestModule | TestSuite): readonly string[] {
  return suite.type === "module" ? [] : [...titlesOf(suite.parent), suite.name];
}
