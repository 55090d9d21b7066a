// Tests the reports of knip.config.ts: every case adds one offence to a small tree that is otherwise clean.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KNIP } from "./gates.ts";

const ROOT = join(import.meta.dirname, "../..");

const MANIFEST = {
  name: "@weir/limits",
  private: true,
  type: "module",
  exports: { "./*": { source: "./src/*.ts", default: "./dist/*.js" } },
  dependencies: { zod: "1" },
};

const CLEAN_TREE: Readonly<Record<string, string>> = {
  "package.json":
    '{ "name": "tree", "private": true, "type": "module", "workspaces": ["limits", "cli"], "devDependencies": { "vitest": "5" } }',
  "vitest.config.ts": 'import { defineConfig } from "vitest/config"; export default defineConfig({});',
  "cli/package.json": JSON.stringify({ ...MANIFEST, name: "@weir/cli", dependencies: { "@weir/limits": "*" } }),
  "cli/src/main.ts": 'import { limit } from "@weir/limits/limit"; limit();',
  "limits/src/limit.ts": "export function limit(): void {}",
  "limits/dist/limit.js": "export function limit() {}", // Built or not, the source counts.
  "limits/tsconfig.build.json": '{ "compilerOptions": { "rootDir": "src", "outDir": "dist" }, "include": ["src"] }',
  "tools/gates/check.ts": 'import "node:fs";',
  "limits/package.json": JSON.stringify(MANIFEST),
  "limits/src/main.ts": 'import "zod"; import { shared } from "./shared.ts"; shared();',
  "limits/src/shared.ts": "export function shared(): void { helper(); }\nexport function helper(): void {}",
  "limits/src/shared.test.ts": 'import { helper } from "./shared.ts"; helper();',
  "limits/src/values.suite.ts": "export const VALUES = [1];",
  "limits/src/values.test.ts": 'import "zod"; import { VALUES } from "./values.suite.ts"; VALUES.at(0);',
};

const OFFENCES: Readonly<Record<string, string>> = {
  "limits/package.json": JSON.stringify({ ...MANIFEST, devDependencies: { "is-unused": "1" } }),
  "limits/src/extra.ts": "export function extra(): void {}",
  "limits/src/tested.ts": "export function tested(): void {}",
  "limits/src/tested.test.ts": 'import "is-undeclared"; import { tested } from "./tested.ts"; tested();',
  "limits/src/main.ts": 'import { shared } from "./shared.ts"; shared();', // Only a test imports zod now.
  "tools/left-over.ts": 'import "node:fs";',
};

let tree = "";

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), "weir-knip-"));
});

afterEach(() => {
  rmSync(tree, { recursive: true });
});

describe("knip.config.ts", () => {
  it("reports nothing in a clean tree", async () => {
    expect(await knipWith({})).toEqual([[], []]);
  });

  it("reports each offence, and what only tests use when asked for what ships", async () => {
    expect(await knipWith(OFFENCES)).toEqual([
      [
        "tools/left-over.ts: tools/left-over.ts",
        "limits/package.json: is-unused",
        "limits/src/tested.test.ts: is-undeclared",
        "limits/src/extra.ts: extra",
      ],
      [
        "tools/left-over.ts: tools/left-over.ts",
        "limits/package.json: zod",
        "limits/src/extra.ts: extra",
        "limits/src/tested.ts: tested",
      ],
    ]);
  });
});

/** Returns the findings of `knip` and of `knip --production` in the clean tree with these changes. */
async function knipWith(changes: Readonly<Record<string, string>>): Promise<readonly (readonly string[])[]> {
  for (const [path, text] of Object.entries({ ...CLEAN_TREE, ...changes })) {
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  mkdirSync(join(tree, "node_modules/@weir"), { recursive: true });
  symlinkSync(join(tree, "limits"), join(tree, "node_modules/@weir/limits"));
  const args = [
    ...KNIP.slice(1),
    "--directory",
    tree,
    "--config",
    join(ROOT, "knip.config.ts"),
    "--reporter",
    "compact",
  ];
  const runs = [[], ["--production"]].map((more) =>
    promisify(execFile)(join(ROOT, "node_modules/.bin/knip"), [...args, ...more]).catch((error: unknown) => {
      return error as { stdout: string };
    }),
  );
  return (await Promise.all(runs)).map(({ stdout }) => stdout.split("\n").filter((line) => line.includes(": ")));
}
