// Completes docs/conformance.md, the list of numbered cases, with the tests that show each and the differences. Fails
// when a case has no test, or a test names an unknown case; --check also compares the page.
import { globSync, readFileSync } from "node:fs";
import { type CaseTest, findCaseTests } from "./case-tests.ts";
import { type Finding, reportFindings } from "../gates/findings.ts";
import { emitPage, inlineCode, replaceBlocks } from "./generated-page.ts";

const PAGE = "docs/conformance.md";

/**
 * Workspaces whose tests count: those that the service is made of, and the ones that look at it
 * from outside.
 */
const TESTED = "{limits,ratelimit,cli,e2e}/src/**/*.{test,suite}.ts";

/** A case in the page, and the lines with its tests. */
const CASE =
  /^(- <a id="case-(\d+)"><\/a>\*\*\2\*\* (.*?)(?: \*\*(Weir differs|Does not apply):\*\* (.*))?)$(?:\n {2}- .*)*/gm;

/** One numbered case. */
export interface ConformanceCase {
  readonly number: number;
  /** The text of the case: what is given, and the result. */
  readonly says: string;
  /** Undefined when Weir does the same. */
  readonly state: string | undefined;
  /** Why Weir does otherwise on purpose, and what it does; or why there is nothing to show. */
  readonly reason: string;
}

/** The cases of the page. */
export function casesIn(page: string): readonly ConformanceCase[] {
  const found = [...page.matchAll(CASE)];
  return found.map(([, , number, says = "", state, reason = ""]) => ({ number: Number(number), says, state, reason }));
}

/** Finds the problems of the cases and their tests together. */
export function findGaps(cases: readonly ConformanceCase[], tests: readonly CaseTest[]): readonly Finding[] {
  const shown = new Set(tests.map(({ number }) => number));
  const page = { file: PAGE, line: 1 };
  return [
    ...cases.flatMap(({ number }, index) => {
      const message = `Case ${number} is where case ${index + 1} must be listed`;
      return number === index + 1 ? [] : [{ ...page, rule: "case-listed", message }];
    }),
    ...cases
      .filter(({ number, state }) => state !== "Does not apply" && !shown.has(number))
      .map(({ number, says }) => {
        return { ...page, rule: "case-without-test", message: `No test has "case ${number}" in its name: ${says}` };
      }),
    ...tests
      .filter(({ number }) => !cases.some((each) => each.number === number))
      .map(({ file, line, number }) => {
        return { file, line, rule: "unknown-case", message: `There is no case ${number}, only 1 to ${cases.length}` };
      }),
  ];
}

/** The page with the tests below each case, and its block of differences. */
export function completePage(page: string, tests: readonly CaseTest[]): string {
  const cases = casesIn(page);
  const differing = cases.filter(({ state }) => state === "Weir differs");
  const absent = cases.filter(({ state }) => state === "Does not apply").length;
  const differences = [
    `Of ${cases.length} cases Weir does the same in ${cases.length - differing.length - absent}, something else on ` +
      `purpose in ${differing.length}, and ${absent} ${absent === 1 ? "does" : "do"} not apply.`,
    differing.map(({ number, reason }) => `- [Case ${number}](#case-${number}): ${reason}`).join("\n"),
  ];
  const withTests = page.replaceAll(CASE, (_, line: string, number: string) => {
    const own = tests.filter((test) => test.number === Number(number));
    const files = [...new Set(own.map(({ file }) => file))].map((file) => {
      const names = own.filter((test) => test.file === file).map(({ name }) => inlineCode(name));
      return `  - [${file}](../${file}): ${[...new Set(names)].join("; ")}`;
    });
    return [line, ...files].join("\n");
  });
  return replaceBlocks(withTests, { differences: differences.join("\n\n") });
}

if (import.meta.main) {
  const paths = globSync(TESTED).toSorted();
  const tests = findCaseTests(new Map(paths.map((path) => [path, readFileSync(path, "utf8")])));
  const page = readFileSync(PAGE, "utf8");
  reportFindings(findGaps(casesIn(page), tests));
  await emitPage(PAGE, completePage(page, tests));
}
