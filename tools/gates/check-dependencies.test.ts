// The refusal of each rule about packages: every case changes one file of a small tree in which
// everything agrees.
import { describe, expect, it } from "vitest";
import { findDependencyProblems } from "./check-dependencies.ts";
import type { Workspace } from "../layout.ts";

const WORKSPACES: readonly Workspace[] = [
  { name: "shared", mayImport: [], order: [], alternatives: [] },
  { name: "rates", mayImport: ["shared"], order: [], alternatives: [] },
];

const MANIFEST = {
  dependencies: { "@weir/shared": "*", zod: "1" },
  devDependencies: { "@types/busboy": "1", busboy: "1" },
};

const LOOKING_UP = { ...MANIFEST, devDependencies: { busboy: "1" } };

const AGREEING: Readonly<Record<string, string>> = {
  "package.json": '{ "devDependencies": { "vitest": "1", "prettier": "1" } }',
  "shared/package.json": "{}",
  "shared/src/log.ts": 'import "node:fs";',
  "rates/package.json": JSON.stringify(MANIFEST),
  "rates/tsconfig.build.json": '{ "references": [{ "path": "../shared/tsconfig.build.json" }] }',
  "rates/src/main.ts": 'import "zod/mini"; import "@weir/shared/log";',
  "rates/src/main.test.ts": 'import "vitest"; import "busboy";',
  Makefile: "format:\n\tprettier --write .\n",
  "docs/dependencies.md": ["vitest", "prettier", "zod", "@types/busboy", "busboy"]
    .map((name) => `| \`${name}\` | what | who | why |`)
    .join("\n"),
};

describe("findDependencyProblems()", () => {
  it("finds nothing when imports, package.json and the page agree", () => {
    expect(findWith({})).toEqual([]);
  });

  it("accepts a package when a test only looks up a file of it", () => {
    const text = 'import "vitest"; const file = createRequire(import.meta.url).resolve("busboy/package.json");';
    expect(findWith({ "rates/src/main.test.ts": text, "rates/package.json": JSON.stringify(LOOKING_UP) })).toEqual([
      "docs/dependencies.md:4 reason: @types/busboy is in no package.json: remove the row",
    ]);
  });

  it.each([
    {
      path: "rates/src/main.ts",
      text: 'import "zod"; import "@weir/shared/log"; import "express";',
      problem: "rates/src/main.ts:1 undeclared: express must be in the dependencies of rates/package.json",
    },
    {
      path: "rates/src/main.ts",
      text: 'import "zod"; import "@weir/shared/log"; import "busboy";',
      problem: "rates/src/main.ts:1 undeclared: busboy must be in the dependencies of rates/package.json",
    },
    {
      path: "rates/src/main.test.ts",
      text: 'import "vitest"; import "busboy"; import "express";',
      problem: "rates/src/main.test.ts:1 undeclared: express must be in the devDependencies of rates/package.json",
    },
    {
      path: "rates/src/main.ts",
      text: 'import "zod"; import "@weir/shared/log"; import "@weir/rates/x";',
      problem: "rates/src/main.ts:1 own-package: Import files of @weir/rates by their relative path",
    },
    {
      path: "rates/src/main.ts",
      text: 'import "@weir/shared/log";',
      problem: "rates/package.json unused-package: Nothing imports or runs zod: remove it",
    },
    { path: "Makefile", text: "", problem: "package.json unused-package: Nothing imports or runs prettier: remove it" },
    {
      path: "rates/package.json",
      text: JSON.stringify({ ...MANIFEST, dependencies: { ...MANIFEST.dependencies, busboy: "1" } }),
      problem: "rates/package.json only-tests: Only tests import busboy: move it to devDependencies",
    },
    {
      path: "rates/tsconfig.build.json",
      text: "{}",
      problem: 'rates/tsconfig.build.json matrix: shared is in package.json and must be in "references" too',
    },
    {
      path: "shared/tsconfig.build.json",
      text: '{ "references": [{ "path": "../rates/tsconfig.build.json" }] }',
      problem: "shared/tsconfig.build.json matrix: rates is not in package.json: remove the reference",
    },
    {
      path: "docs/dependencies.md",
      text: `${AGREEING["docs/dependencies.md"] ?? ""}\n| \`left-pad\` | what | who | why |`,
      problem: "docs/dependencies.md:6 reason: left-pad is in no package.json: remove the row",
    },
    {
      path: "docs/dependencies.md",
      text: (AGREEING["docs/dependencies.md"] ?? "").replace("| `zod` | what |", "| `zod` | |"),
      problem: "docs/dependencies.md:3 reason: The row of zod has an empty cell",
    },
    {
      path: "docs/dependencies.md",
      text: (AGREEING["docs/dependencies.md"] ?? "").replace("`zod`", "zod"),
      problem: "docs/dependencies.md reason: zod has no row: say what it does, who keeps it, and why not our own",
    },
  ])("reports $problem", ({ path, text, problem }) => {
    expect(findWith({ [path]: text })).toEqual([problem]);
  });

  it("reports a workspace in package.json when the table does not allow it", () => {
    const changes = {
      "shared/package.json": '{ "dependencies": { "@weir/rates": "*" } }',
      "shared/src/log.ts": 'import "@weir/rates/main";',
      "shared/tsconfig.build.json": '{ "references": [{ "path": "../rates/tsconfig.build.json" }] }',
    };
    expect(findWith(changes)).toEqual(["shared/package.json matrix: tools/layout.ts does not let shared import rates"]);
  });
});

function findWith(changes: Readonly<Record<string, string>>): readonly string[] {
  const files = new Map(Object.entries({ ...AGREEING, ...changes }));
  return findDependencyProblems(files, WORKSPACES).map(
    ({ file, line, rule, message }) => `${file}${line === undefined ? "" : `:${line}`} ${rule}: ${message}`,
  );
}
