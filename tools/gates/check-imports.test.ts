// Proves that each import rule refuses what it is for: every case adds one offence to a small tree
// that is otherwise clean.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findFolderCycles, findImportProblems } from "./check-imports.ts";
import type { Workspace } from "../layout.ts";

const WORKSPACES: readonly Workspace[] = [
  { name: "contract", mayImport: [], order: ["generated"] },
  { name: "equipment", mayImport: ["contract"], order: ["server"] },
  {
    name: "service",
    mayImport: ["contract"],
    testsMayImport: ["equipment"],
    order: ["errors.ts", "rules", "counters"],
    alternatives: ["counters", "rules/{tree,list}"],
  },
  { name: "other", mayImport: ["contract"], order: ["calls"] },
  {
    name: "program",
    mayImport: ["contract"],
    order: ["check"],
  },
];

const CLEAN_TREE: Readonly<Record<string, string>> = {
  ...manifest("contract", []),
  ...manifest("equipment", ["@weir/contract"]),
  ...manifest("service", ["@weir/contract", "declared-package"], ["development-package", "@weir/equipment"]),
  ...manifest("other", ["@weir/contract"]),
  ...manifest("program", ["@weir/contract"]),
  "node_modules/declared-package/package.json":
    '{ "name": "declared-package", "version": "1.0.0", "main": "index.js" }',
  "node_modules/declared-package/index.js": "exports.x = 1;",
  "node_modules/development-package/package.json":
    '{ "name": "development-package", "version": "1.0.0", "main": "index.js" }',
  "node_modules/development-package/index.js": "exports.x = 1;",
  "contract/src/unit.ts": 'import { g } from "./generated/g.ts"; export const unit = g;',
  "contract/src/generated/g.ts": 'import "node:fs"; export const g = 1;',
  "equipment/src/server/server.ts": 'import { unit } from "@weir/contract/unit"; export const server = unit;',
  "service/src/errors.ts": 'import { unit } from "@weir/contract/unit"; export const errors = unit;',
  "service/src/rules/rule.ts":
    'import { errors } from "../errors.ts"; import type { Counter } from "../counters/counter.ts"; export const rule: Counter = errors;',
  "service/src/counters/counter.ts": 'import "declared-package"; export type Counter = number;',
  "service/src/counters/memory/memory.ts":
    'import type { Counter } from "../counter.ts"; export const memory: Counter = 1;',
  "service/src/counters/redis/redis.ts":
    'import type { Counter } from "../counter.ts"; export const redis: Counter = 1;',
  "service/src/rules/tree/tree.ts": 'import { word } from "../words/word.ts"; export const tree = word;',
  "service/src/rules/list/list.ts": 'import { word } from "../words/word.ts"; export const list = word;',
  "service/src/rules/words/word.ts": 'import "node:fs"; export const word = 1;',
  "service/src/main.ts":
    'import "./rules/rule.ts"; import "./counters/memory/memory.ts"; import "./counters/redis/redis.ts";',
  "service/src/rules/rule.test.ts":
    'import "development-package"; import "@weir/equipment/server/server"; import { rule } from "./rule.ts"; import { memory } from "../counters/memory/memory.ts"; export const test = [rule, memory];',
  "other/src/calls/call.ts": 'import { unit } from "@weir/contract/unit"; export const call = unit;',
  "program/src/check/check.ts": 'import "node:fs"; export const check = 1;',
  "tools/tool.ts": 'import "node:fs"; export const tool = 1;',
};

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "weir-imports-"));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

describe("findImportProblems()", () => {
  it("finds nothing in a clean tree", async () => {
    expect(await findProblemsWith({})).toEqual([]);
  });

  it.each<{ rule: string; path: string; text: string; at?: string }>([
    {
      rule: "import-matrix/service/equipment",
      path: "service/src/rules/extra.ts",
      text: 'import "@weir/equipment/server/server";',
    },
    {
      rule: "import-matrix/contract",
      path: "contract/src/unit.ts",
      text: 'import { free } from "@weir/other/calls/free"; import { g } from "./generated/g.ts"; export const unit = [free, g];',
    },
    {
      rule: "import-matrix/other",
      path: "other/src/calls/call.ts",
      text: 'import { rule } from "@weir/service/rules/rule"; export const call = rule;',
    },
    {
      rule: "import-matrix/other",
      path: "other/src/calls/call.ts",
      text: 'import type { Counter } from "@weir/service/counters/counter"; export type Call = Counter;',
    },
    {
      rule: "import-matrix/other",
      path: "other/src/calls/call.ts",
      text: 'export const call = await import("../../../service/src/rules/rule.ts");',
    },
    {
      rule: "import-matrix/other",
      path: "other/src/calls/call.test.ts",
      text: 'import { rule } from "@weir/service/rules/rule"; export const call = rule;',
    },
    {
      rule: "folder-order/service/rules",
      path: "service/src/rules/rule.ts",
      text: 'import { memory } from "../counters/memory/memory.ts"; import { errors } from "../errors.ts"; export const rule = [memory, errors];',
    },
    {
      rule: "folder-order/service/errors.ts",
      path: "service/src/errors.ts",
      text: 'import { memory } from "./counters/memory/memory.ts"; import { unit } from "@weir/contract/unit"; export const errors = [unit, memory];',
    },
    {
      rule: "folder-order/service/counters",
      path: "service/src/counters/memory/memory.ts",
      text: 'import { settings } from "../../settings.ts"; export const memory = settings;',
    },
    {
      rule: "alternatives-apart/service/counters",
      path: "service/src/counters/memory/memory.ts",
      text: 'import { redis } from "../redis/redis.ts"; export const memory = redis;',
    },
    {
      rule: "alternatives-apart/service/rules/{tree,list}",
      path: "service/src/rules/tree/tree.ts",
      text: 'import { list } from "../list/list.ts"; export const tree = list;',
    },
    {
      rule: "no-cycle",
      at: "service/src/rules/match.ts",
      path: "service/src/rules/rule.ts",
      text: 'import { match } from "./match.ts"; export const rule = match;',
    },
    { rule: "no-orphan", path: "service/src/rules/alone.ts", text: "export const alone = 1;" },
    {
      rule: "no-development-package",
      path: "service/src/counters/counter.ts",
      text: 'import "development-package"; export type Counter = number;',
    },
    {
      rule: "no-test-import",
      path: "service/src/main.ts",
      text: 'import "./rules/rule.test.ts"; import "./counters/memory/memory.ts";',
    },
    {
      rule: "tools-apart",
      path: "other/src/calls/call.ts",
      text: 'import { tool } from "../../../tools/tool.ts"; export const call = tool;',
    },
    {
      rule: "tools-load",
      path: "tools/tool.ts",
      text: 'import { call } from "../other/src/calls/call.ts"; export const tool = call;',
    },
    {
      rule: "no-folder-cycle",
      path: "service/src/counters/counter.ts",
      text: 'import type { Errors } from "../rules/limit.ts"; export type Counter = Errors;',
    },
  ])("reports $rule when $path holds $text", async ({ rule, path, text, at }) => {
    const problems = await findProblemsWith({ [path]: text, ...COMPANIONS });
    expect(problems).toContainEqual({ file: at ?? path, rule });
    expect(new Set(problems.map((problem) => problem.rule))).toEqual(new Set([rule]));
  });
});

describe("findImportProblems() on folders", () => {
  it("reports a folder when it has no place in the order", async () => {
    const problems = await findProblemsWith({ "other/src/extra/one.ts": 'import "node:fs"; export const one = 1;' });
    expect(problems).toEqual([{ file: "other/src/extra", rule: "unlisted-folder" }]);
  });
});

describe("findFolderCycles()", () => {
  it("names the folders of the circle when three folders form one", () => {
    const modules = [
      { source: "service/src/a/one.ts", dependencies: [{ resolved: "service/src/b/two.ts" }] },
      { source: "service/src/b/two.ts", dependencies: [{ resolved: "service/src/c/three.ts" }] },
      { source: "service/src/c/three.ts", dependencies: [{ resolved: "service/src/a/four.ts" }] },
    ] as unknown as Parameters<typeof findFolderCycles>[0];
    expect(findFolderCycles(modules)).toEqual([
      {
        file: "service/src/a/one.ts",
        rule: "no-folder-cycle",
        message:
          "Folders must not import each other in a circle: service/src/a → service/src/b → service/src/c → service/src/a",
      },
    ]);
  });
});

/** Harmless by themselves; what an offence points at. */
const COMPANIONS: Readonly<Record<string, string>> = {
  "service/src/settings.ts": 'import "node:fs"; export const settings = 1;',
  "service/src/rules/match.ts": 'import { rule } from "./rule.ts"; export const match = rule;',
  "other/src/calls/free.ts": 'import "node:fs"; export const free = 1;',
  "service/src/rules/limit.ts": 'import "node:fs"; export type Errors = number;',
};

async function findProblemsWith(
  changes: Readonly<Record<string, string>>,
): Promise<readonly { file: string; rule: string }[]> {
  for (const [path, text] of Object.entries({ ...CLEAN_TREE, ...changes })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  mkdirSync(join(root, "node_modules/@weir"), { recursive: true });
  for (const { name } of WORKSPACES) symlinkSync(join(root, name), join(root, "node_modules/@weir", name));
  const problems = await findImportProblems(root, WORKSPACES);
  return problems.map(({ file, rule }) => ({ file, rule }));
}

function manifest(
  name: string,
  dependencies: readonly string[],
  devDependencies: readonly string[] = [],
): Record<string, string> {
  const versions = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((dependency) => [dependency, "*"]));
  const text = JSON.stringify({
    name: `@weir/${name}`,
    type: "module",
    exports: { "./*": { source: "./src/*.ts", default: "./dist/*.js" } },
    dependencies: versions(dependencies),
    devDependencies: versions(devDependencies),
  });
  return { [`${name}/package.json`]: text };
}
