// The pages as one product: every code block is tested or says why not, every link leads somewhere, every test that is
// named exists, and the index of docs lists every page.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";
import { problemOfBlock, REMEDY } from "./block-problem.ts";
import { FIXTURE_NAMES } from "./fixture-names.ts";
import { findBrokenLinks } from "./links.ts";
import { findNamedTests, problemOfNamedTest } from "./named-tests.ts";
import { listCodeBlocks, listPages, readPage } from "./pages.ts";

const PAGES = listPages(ROOT);

/** The text of a file of the repository; undefined when it does not exist. */
function textOf(path: string): string | undefined {
  const file = join(ROOT, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

describe("the code blocks of the pages", () => {
  it("are run by a test, or marked with the reason why not", () => {
    const known = { fixtures: FIXTURE_NAMES, textOf };
    const problems = listCodeBlocks(ROOT).flatMap((block) => problemOfBlock(block, known) ?? []);
    expect(problems, REMEDY).toEqual([]);
  });
});

describe("the links of the pages", () => {
  it.each(PAGES)("lead to files and headings that exist, in %s", (page) => {
    const files = {
      exists: (path: string) => existsSync(join(ROOT, path)),
      textOf: (path: string) => readPage(ROOT, path),
    };
    expect(findBrokenLinks(page, files)).toEqual([]);
  });
});

describe("the tests that pages name", () => {
  it("exist, with their titles", () => {
    const named = PAGES.flatMap((page) => findNamedTests(readPage(ROOT, page)).map((test) => ({ page, test })));
    const problems = named.flatMap(({ page, test }) => {
      const problem = problemOfNamedTest(test, textOf);
      return problem === undefined ? [] : `${page}: ${problem}`;
    });
    expect(problems).toEqual([]);
  });

  it("are in each row of docs/account-security.md, or the row says that there is none", () => {
    const [, ...chapters] = readPage(ROOT, "docs/account-security.md").split(/^## V/m);
    const rows = chapters.flatMap((chapter) => chapter.split("\n").filter((line) => /^\| \d/.test(line)));
    expect(rows.length).toBeGreaterThan(100);
    const isShown = (row: string): boolean =>
      /\| No test\s*\|$/.test(row) || findNamedTests(row).some(({ title }) => title !== undefined);
    expect(rows.filter((row) => !isShown(row))).toEqual([]);
  });
});

describe("docs/README.md", () => {
  const index = readPage(ROOT, "docs/README.md");
  const pages = PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  it.each(pages)("lists %s", (page) => {
    expect(index).toMatch(new RegExp(`\\]\\(${page.slice("docs/".length).replaceAll(".", "\\.")}[)#]`));
  });
});
