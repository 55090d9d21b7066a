// What counts as a use of an export, and what does not.
import { describe, expect, it } from "vitest";
import { findPrograms, findUnusedExports, resolveImport } from "./check-exports.ts";

const MAIN = "rates/src/main.ts";

describe("findUnusedExports()", () => {
  it("reports an export when no other file imports it", () => {
    expect(
      find({ "rates/src/a.ts": "export const a = 1;\nexport const b = a;", [MAIN]: 'import { a } from "./a.ts"; a;' }),
    ).toEqual([
      {
        file: "rates/src/a.ts",
        line: 2,
        rule: "unused-export",
        message: 'No other file imports b: remove it, or its "export"',
      },
    ]);
  });

  it("reports an export when only tests use it", () => {
    const files = {
      "rates/src/a.ts": "export const a = 1;\nexport const b = 2;",
      [MAIN]: 'import { a } from "./a.ts"; a;',
      "rates/src/a.test.ts": 'import { a, b } from "./a.ts"; a; b;',
    };
    expect(find(files)).toEqual([
      { file: "rates/src/a.ts", line: 2, rule: "unused-export", message: "Only tests use b: remove it" },
    ]);
  });

  it("accepts an export that tests import when its own file uses it", () => {
    const files = {
      "rates/src/a.ts": "export const a = () => b;\nexport const b = 2;",
      [MAIN]: 'import { a } from "./a.ts"; a;',
      "rates/src/a.test.ts": 'import { b } from "./a.ts"; b;',
    };
    expect(find(files)).toEqual([]);
  });

  it("accepts an export when another workspace imports it by the workspace's name", () => {
    expect(
      find({
        "shared/src/log/log.ts": "export const log = 1;",
        [MAIN]: 'import { log } from "@weir/shared/log/log"; log;',
      }),
    ).toEqual([]);
  });

  it("accepts an export when a suite imports it", () => {
    const files = {
      "rates/src/a.ts": "export const a = 1;",
      "rates/src/a.suite.ts": 'import { a } from "./a.ts"; export const suite = a;',
      [MAIN]: 'import "./a.ts";',
    };
    expect(find(files)).toEqual([]);
  });

  it("accepts a type when an export that is used speaks of it", () => {
    const files = {
      "rates/src/a.ts":
        "export interface Options { size: Size }\nexport type Size = number;\nexport function a(options: Options): void {}",
      [MAIN]: 'import { a } from "./a.ts"; a({ size: 1 });',
    };
    expect(find(files)).toEqual([]);
  });

  it("reports a type when only code inside a function speaks of it", () => {
    const files = {
      "rates/src/a.ts": "export type Size = number;\nfunction inner(size: Size): void {}\nexport const a = inner;",
      [MAIN]: 'import { a } from "./a.ts"; a(1);',
    };
    expect(find(files).map(({ rule, line }) => [rule, line])).toEqual([["unused-export", 1]]);
  });

  it("reports a file when no file imports it and no program starts there", () => {
    expect(find({ "rates/src/a.ts": "const a = 1;", [MAIN]: "1;" }).map(({ file, rule }) => [file, rule])).toEqual([
      ["rates/src/a.ts", "unused-file"],
    ]);
  });

  it("reports what a program exports when nobody imports it", () => {
    expect(find({ [MAIN]: "export const a = 1;" }).map(({ rule }) => rule)).toEqual(["unused-export"]);
  });

  it.each([
    { path: "rates/src/errors.ts", text: "export const RATES_ERRORS = {};" },
    { path: "rates/src/settings.ts", text: "export const describeSettings = 1;" },
    { path: "rates/src/generated/a.ts", text: "export const a = 1;" },
    { path: "rates/src/a.suite.ts", text: "export const suite = 1;" },
  ])("accepts $path when $text is looked up by its name", ({ path, text }) => {
    expect(find({ [path]: text, [MAIN]: "1;" })).toEqual([]);
  });
});

describe("findPrograms()", () => {
  it("finds what launchers, the Makefile and other programs start, and what asks whether it was started", () => {
    const files = new Map([
      ["tools/check.ts", "if (import.meta.main) run();"],
      ["rates/src/plain.ts", "export const a = 1;"],
      ["e2e/src/measured-server.ts", "answer();"],
      ["e2e/src/bench.ts", 'spawn("node", [join(folder, "measured-server.js")]);'],
    ]);
    const starters = new Map([
      ["rates/bin/rates", 'program="$workspace/dist/tools/client.js"'],
      ["Makefile", "run:\n\t@exec node e2e/dist/stack/run.js\n"],
      ["tools/generators.ts", 'fromSource("crds/src/generate.ts")'],
    ]);
    expect([...findPrograms(files, starters)].toSorted()).toEqual([
      "crds/src/generate.ts",
      "e2e/src/measured-server.ts",
      "e2e/src/stack/run.ts",
      "rates/src/tools/client.ts",
      "tools/check.ts",
    ]);
  });
});

describe("resolveImport()", () => {
  it.each([
    { specifier: "./b.ts", path: "rates/src/x/b.ts" },
    { specifier: "../b.ts", path: "rates/src/b.ts" },
    { specifier: "@weir/shared/log/log", path: "shared/src/log/log.ts" },
    { specifier: "zod", path: undefined },
    { specifier: "node:fs", path: undefined },
  ])("answers $path when a file imports $specifier", ({ specifier, path }) => {
    expect(resolveImport("rates/src/x/a.ts", specifier)).toBe(path);
  });
});

function find(files: Readonly<Record<string, string>>): ReturnType<typeof findUnusedExports> {
  return findUnusedExports(new Map(Object.entries(files)), new Set([MAIN]));
}
