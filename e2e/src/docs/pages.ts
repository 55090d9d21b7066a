// The Markdown pages of the repository that readers get.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CodeBlock, findCodeBlocks } from "@weir/harness/pages/code-blocks";

const PATTERNS = ["*.md", "docs/**/*.md", "examples/**/*.md", "charts/**/*.md"];

/** Pages whose blocks show what was true once. */
const WITHOUT_BLOCKS = new Set(["CHANGELOG.md"]);

/** Paths of all pages, from the root of the repository. */
export function listPages(root: string): readonly string[] {
  return globSync(PATTERNS, { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
}

/** The text of a page. */
export function readPage(root: string, page: string): string {
  return readFileSync(join(root, page), "utf8");
}

/** All code blocks of all pages. */
export function listCodeBlocks(root: string): readonly CodeBlock[] {
  const pages = listPages(root).filter((page) => !WITHOUT_BLOCKS.has(page));
  return pages.flatMap((page) => findCodeBlocks(page, readPage(root, page)));
}
