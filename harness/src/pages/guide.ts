// Reads the code blocks of a page of the documentation, so that a test runs what the page shows.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CodeBlock, findCodeBlocks } from "./code-blocks.ts";
import { ROOT } from "../processes/programs.ts";

/** A page of `docs`. */
export class Guide {
  readonly #blocks: readonly CodeBlock[];

  constructor(page: string) {
    this.#blocks = findCodeBlocks(page, readFileSync(join(ROOT, "docs", page), "utf8"));
  }

  /** The one block of a language that begins with `start`. */
  block(language: string, start: string): string {
    const [found, ...others] = this.#blocks.filter(
      (block) => block.language === language && block.text.startsWith(start),
    );
    if (found === undefined || others.length > 0)
      throw new Error(`${others.length} blocks ${language} begin with ${start}`);
    return found.text;
  }

  /** The same as environment variables. */
  env(start: string): Record<string, string> {
    const lines = this.block("ini", start).split("\n");
    return Object.fromEntries(lines.map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1, 3) as [string, string]));
  }
}
