// Tests of links and anchors in pages.
import { describe, expect, it } from "vitest";
import { anchorsOf, findBrokenLinks } from "./links.ts";

const PAGES: Readonly<Record<string, string>> = {
  "docs/page.md": [
    "# The page",
    "[a](other.md#two-words) [b](../docs) [c](https://example.com/x) [d](#the-page) `[e](none.md)`",
    "```",
    "[f](none.md)",
    "```",
    "[g](none.md) [h](other.md#three) [i](#none)",
  ].join("\n"),
  "docs/other.md": '## Two words\n\n<a id="named"></a>\n\n## `weir check`, [again](page.md)!\n\n## Two words\n',
};

const FILES = {
  exists: (path: string) => path === "docs" || path in PAGES,
  textOf: (page: string) => PAGES[page]!,
};

describe("findBrokenLinks()", () => {
  it("returns links to files and headings that do not exist, outside of code", () => {
    expect(findBrokenLinks("docs/page.md", FILES)).toEqual([
      "docs/page.md:6: none.md does not exist",
      "docs/page.md:6: docs/other.md has no heading #three",
      "docs/page.md:6: docs/page.md has no heading #none",
    ]);
  });
});

describe("anchorsOf()", () => {
  it("makes anchors as GitHub does, and counts equal headings", () => {
    expect([...anchorsOf(PAGES["docs/other.md"]!)]).toEqual(["two-words", "weir-check-again", "two-words-1", "named"]);
  });
});
