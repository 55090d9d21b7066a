// Writes docs/conformance.md: every numbered case, whether this service does the same, and the
// tests that show it. Fails when a case has no test, or a test names an unknown case;
// --check also compares the page.
import { globSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { ConformanceCase, ConformanceSection } from "./conformance/case.ts";
import { COUNTING_SECTIONS } from "./conformance/cases-counting.ts";
import { RULE_SECTIONS } from "./conformance/cases-rules.ts";
import { SERVICE_SECTIONS } from "./conformance/cases-service.ts";
import { type CaseTest, findCaseTests } from "./conformance/case-tests.ts";
import { reportFindings, type Finding } from "../gates/findings.ts";
import { emitPage, inlineCode } from "./generated-page.ts";

/** Where the page goes. */
const PAGE = "docs/conformance.md";

/** Where the differences are that the differential run expects. */
const EXPECTED_DIFFERENCES = "e2e/src/conformance/differential/exceptions.ts";

/** A difference that the differential run expects. */
export interface ExpectedDifference {
  readonly says: string;
  /** The numbered case that says more. */
  readonly case?: number;
}

/** How many cases there are; they are numbered from 1. */
const CASE_COUNT = 208;

/**
 * Workspaces whose tests count: those that the service is made of, and the ones that look at it
 * from outside.
 */
const TESTED = "{limits,ratelimit,cli,e2e}/src/**/*.{test,suite}.ts";

/** What is wrong with the cases and their tests together. */
export function findGaps(
  sections: readonly ConformanceSection[],
  tests: readonly CaseTest[],
  count: number,
): readonly Finding[] {
  const cases = sections.flatMap((section) => section.cases);
  const shown = new Set(tests.map(({ number }) => number));
  const page = { file: PAGE, line: 1 };
  const listed = Array.from({ length: count }, (_, index) => index + 1).flatMap((number) => {
    const times = cases.filter((each) => each.number === number).length;
    return times === 1
      ? []
      : [{ ...page, rule: "case-listed", message: `Case ${number} must be listed once, it is ${times} times` }];
  });
  const untested = cases
    .filter((each) => each.absent === undefined && !shown.has(each.number))
    .map(({ number, says }) => ({
      ...page,
      rule: "case-without-test",
      message: `No test has "case ${number}" in its name: ${says}`,
    }));
  const unknown = tests
    .filter(({ number }) => number < 1 || number > count)
    .map(({ file, line, number }) => ({
      file,
      line,
      rule: "unknown-case",
      message: `There is no case ${number}, only 1 to ${count}`,
    }));
  return [...listed, ...untested, ...unknown];
}

/** The page. */
export function formatConformancePage(
  sections: readonly ConformanceSection[],
  tests: readonly CaseTest[],
  expected: readonly ExpectedDifference[] = [],
): string {
  const cases = sections.flatMap((section) => section.cases);
  const absent = cases.filter((each) => each.absent !== undefined).length;
  const counted = (isWanted: (each: ConformanceCase) => boolean): number => cases.filter(isWanted).length;
  return [
    "# Conformance",
    "<!-- Written by tools/generate/conformance-docs.ts from the cases in tools/ and the names of tests: change those, then run `make generate`. -->",
    "Weir's rate limit service takes the place of the Go service envoyproxy/ratelimit behind the same proxies, rule files, configuration servers and " +
      "stores. These numbered cases say what that service does; the tests below each show what Weir does. A test belongs to a case by the number in its name.",
    `Of ${cases.length} cases Weir does the same in ${counted((each) => each.differs === undefined && each.absent === undefined)}, ` +
      `something else on purpose in ${counted((each) => each.differs !== undefined)}, and ${absent} ${absent === 1 ? "does" : "do"} not apply. ` +
      "The [decisions behind the differences](#where-weir-differs) come first.",
    "## Where Weir differs",
    cases
      .flatMap((each) =>
        each.differs === undefined ? [] : [`- [Case ${each.number}](#case-${each.number}): ${each.differs}`],
      )
      .join("\n"),
    ...differentialRun(expected),
    ...sections.flatMap(({ title, cases: own }) => [
      `## ${title}`,
      own.map((each) => formatCase(each, tests)).join("\n"),
    ]),
    "",
  ].join("\n\n");
}

function differentialRun(expected: readonly ExpectedDifference[]): readonly string[] {
  if (expected.length === 0) return [];
  return [
    "## The same rules and requests for both",
    "A test starts envoyproxy/ratelimit and Weir over 20 random configurations, each over a Redis server of its own, and sends both the same 1,000 random requests " +
      "each time: nested rules, wildcards, shared thresholds, shadow and quota mode, replaced and unlimited rules, limits and hits that requests bring, duplicates, the local cache " +
      "and the other settings that change decisions. Every answer, `/rlconfig`, the statistics, and the keys of Redis with their values must be equal, times to live within the jitter and a minute. " +
      '`make differential` does the same with other random numbers, as `make differential ARGS="--seed 7"` with chosen ones.',
    "envoyproxy/ratelimit is the Go module at v1.4.1-0.20260122083618-3fb702589d36, which is older than the behaviour that Weir follows: it has no `metadata` of rules, " +
      "takes wildcards only at the end of a value, and has another text for a `share_threshold` without a wildcard. The run leaves these out; the cases below cover them. " +
      "It also has only hours and days, so that no window ends during a run. It expects these differences:",
    expected
      .map((each) => `- ${each.says}${each.case === undefined ? "" : ` See [case ${each.case}](#case-${each.case}).`}`)
      .join("\n"),
  ];
}

function formatCase({ number, says, differs, absent }: ConformanceCase, tests: readonly CaseTest[]): string {
  const state =
    differs !== undefined
      ? ` **Weir differs:** ${differs}`
      : absent !== undefined
        ? ` **Does not apply:** ${absent}`
        : "";
  const own = tests.filter((test) => test.number === number);
  const files = [...new Set(own.map(({ file }) => file))];
  const shown = files.map((file) => {
    const names = own.filter((test) => test.file === file).map(({ name }) => inlineCode(name));
    return `  - [${file}](../${file}): ${[...new Set(names)].join("; ")}`;
  });
  return [`- <a id="case-${number}"></a>**${number}** ${says}${state}`, ...shown].join("\n");
}

if (import.meta.main) {
  const sections = [...RULE_SECTIONS, ...COUNTING_SECTIONS, ...SERVICE_SECTIONS];
  const paths = globSync(TESTED).toSorted();
  const tests = findCaseTests(new Map(paths.map((path) => [path, readFileSync(path, "utf8")])));
  reportFindings(findGaps(sections, tests, CASE_COUNT));
  const exported = (await import(pathToFileURL(EXPECTED_DIFFERENCES).href)) as Record<string, unknown>;
  const expected = Object.values(exported["EXPECTED_DIFFERENCES"] as Record<string, ExpectedDifference>);
  await emitPage(PAGE, formatConformancePage(sections, tests, expected));
}
