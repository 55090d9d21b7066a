// The pages as one product: every code block is tested or says why not, every link leads somewhere, and the index of
// docs lists every page.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";
import { problemOfBlock, REMEDY } from "./block-problem.ts";
import { FIXTURE_NAMES } from "./fixture-names.ts";
import { findBrokenLinks } from "./links.ts";
import { listCodeBlocks, listPages, readPage } from "./pages.ts";

const PAGES = listPages(ROOT);

describe("the code blocks of the pages", () => {
  it("are run by a test, or marked with the reason why not", () => {
    const textOf = (path: string) => {
      const file = join(ROOT, path);
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    };
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

describe("docs/README.md", () => {
  const index = readPage(ROOT, "docs/README.md");
  const pages = PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  it.each(pages)("lists %s", (page) => {
    expect(index).toMatch(new RegExp(`\\]\\(${page.slice("docs/".length).replaceAll(".", "\\.")}[)#]`));
  });
});
