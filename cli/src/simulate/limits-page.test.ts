// The recipes of docs/limits.md: both forms of each limit are valid and the same, and pass what the page says.
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { join } from "node:path";

import { textsOf } from "@weir/harness/pages/code-blocks";
import { describe, expect, it } from "vitest";

import { runSimulate } from "./simulate-command.ts";

const PAGE = "docs/limits.md";

const RECIPES = (readFileSync(join(import.meta.dirname, "../../..", PAGE), "utf8").split(/^## Recipes$/m)[1] ?? "")
  .split(/^### /m)
  .slice(1)
  .map(readRecipe);

interface Recipe {
  readonly title: string;
  readonly rules: string;
  readonly manifest: string;
  readonly rows: readonly { readonly flags: string; readonly cells: readonly string[] }[];
}

function readRecipe(section: string): Recipe {
  const [title = ""] = section.split("\n", 1);
  const [rules = "", manifest = "", ...others] = textsOf("yaml", PAGE, section);
  const rows = Array.from(section.matchAll(/^\| `(?<flags>--.*)` +\|(?<cells>.*)\|$/gm), ({ groups }) => ({
    flags: groups?.["flags"] ?? "",
    cells: (groups?.["cells"] ?? "").split("|").map((cell) => cell.trim()),
  }));
  if (others.length > 0 || rows.length === 0) throw new Error(`${title}: not two blocks and a table`);
  return { title, rules, manifest, rows };
}

/** The result of the requests; without the place, which differs between the files. */
async function play(text: string, flags: string) {
  const written: string[] = [];
  const write = (line: string): void => void written.push(line);
  const args = ["-f", "-", "-o", "json", ...flags.split(" ")];
  const code = await runSimulate({ stdout: write, stderr: write }, args, () => Readable.from([Buffer.from(text)]));
  expect({ code, problems: code === 0 ? [] : written }).toEqual({ code: 0, problems: [] });
  const { place: _place, ...result } = JSON.parse(written.join("")) as {
    place: unknown;
    passed: number;
    rejected: number;
    limits: readonly { name: string; mostHits: number }[];
  };
  return result;
}

describe("the recipes of docs/limits.md", () => {
  it("are ten", () => {
    expect(RECIPES.length).toBe(10);
  });

  it.each(RECIPES)("pass what the page says: $title", async ({ rules, manifest, rows }) => {
    for (const { flags, cells } of rows) {
      const result = await play(rules, flags);
      expect(await play(manifest, flags)).toEqual(result);
      const most = result.limits.map(({ name, mostHits }) => `${mostHits}${name === "" ? "" : ` (${name})`}`);
      expect([flags, ...cells]).toEqual([flags, `${result.passed}`, `${result.rejected}`, most.join(", ")]);
    }
  });
});
