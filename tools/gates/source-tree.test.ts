import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readFiles } from "./source-tree.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-source-tree-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("readFiles()", () => {
  it("leaves out what programs put into the tree, the test runner's reports included", () => {
    const paths = [
      "b.ts",
      "a/c.ts",
      ".vitest/json/output.json",
      "a/dist/c.js",
      "node_modules/x/y.js",
      "coverage/z.json",
    ];
    for (const path of paths) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), path);
    }
    expect([...readFiles(folder, () => true)]).toEqual([
      ["a/c.ts", "a/c.ts"],
      ["b.ts", "b.ts"],
    ]);
  });
});
