// Gate: unused exports and unreachable files. Works on names alone, without
// types, so it is quick; a name that is only looked up at run time must be told to it here.
import { posix } from "node:path";
import ts from "typescript";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { importsOf } from "./imports.ts";
import { GENERATED_FILE, TEST_FILE } from "../layout.ts";
import type { Files } from "./source-tree.ts";
import { isTypeScript, readFiles } from "./source-tree.ts";
import type { ExportedDeclaration } from "./syntax.ts";
import { exportedDeclarations, parseSource, walk } from "./syntax.ts";

/** Names that programs of tools/ look up in files of this name, at run time. */
const LOOKED_UP: readonly { readonly file: RegExp; readonly name: RegExp }[] = [
  { file: /(^|\/)errors\.ts$/, name: /_ERRORS$/ },
  { file: /(^|\/)settings\.ts$/, name: /^(describe\w*Settings|describeSettingGroups|describeSettingsWithoutEffect)$/ },
  { file: /\.config\.ts$/, name: /./ },
];

/**
 * Exports of `files` that no other file imports. `programs` are the files that run by themselves;
 * what they export is still looked at.
 */
export function findUnusedExports(files: Files, programs: ReadonlySet<string>): readonly Finding[] {
  const users = collectUsers(files);
  return [...files].flatMap(([path, text]) => {
    if (TEST_FILE.test(path) || GENERATED_FILE.test(path)) return [];
    const usedByShipped = users.shipped.get(path);
    const usedByTests = users.tests.get(path);
    if (usedByShipped === undefined && usedByTests === undefined && !programs.has(path) && !isLookedUp(path)) {
      return [
        { file: path, rule: "unused-file", message: "No file imports this one and no program starts here: remove it" },
      ];
    }
    const source = parseSource(path, text);
    const declarations = exportedDeclarations(source);
    const spoken = namesSpokenByExports(declarations);
    return declarations.flatMap((declaration) => {
      const { name, line, isType } = declaration;
      if (has(usedByShipped, name) || (isType && spoken.has(name)) || isLookedUp(path, name)) return [];
      const isTested = has(usedByTests, name);
      if (isTested && isUsedInside(source, name)) return [];
      const message = isTested
        ? `Only tests use ${name}: remove it`
        : `No other file imports ${name}: remove it, or its "export"`;
      return [{ file: path, line, rule: "unused-export", message }];
    });
  });
}

/** Path of the file that `specifier` names when `importer` imports it; undefined for a package. */
export function resolveImport(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(importer), specifier);
  const match = /^@weir\/([^/]+)\/(.+)$/.exec(specifier);
  return match === null ? undefined : `${match[1] ?? ""}/src/${match[2] ?? ""}.ts`;
}

type Users = Map<string, Set<string> | "all">;

function collectUsers(files: Files): { shipped: Users; tests: Users } {
  const users: { shipped: Users; tests: Users } = { shipped: new Map(), tests: new Map() };
  for (const [importer, text] of files) {
    for (const imported of importsOf(importer, text)) {
      const path = resolveImport(importer, imported.specifier);
      if (path === undefined) continue;
      addNames(isTest(importer) ? users.tests : users.shipped, path, imported.names);
    }
  }
  return users;
}

function addNames(users: Users, path: string, names: readonly string[] | "all"): void {
  const known = users.get(path) ?? new Set<string>();
  if (names === "all" || known === "all") {
    users.set(path, "all");
    return;
  }
  for (const name of names) known.add(name);
  users.set(path, known);
}

/** Whether `source` itself uses what it declares as `name`: then a test may import it too. */
function isUsedInside(source: ts.SourceFile, name: string): boolean {
  let count = 0;
  walk(source, (node) => {
    if (ts.isIdentifier(node) && node.text === name) count += 1;
  });
  return count > 1;
}

/**
 * What a suite or a file of e2e uses counts as used: they are handed to others, or are what the
 * workspace is for.
 */
function isTest(path: string): boolean {
  return path.endsWith(".test.ts") && !path.startsWith("e2e/");
}

/**
 * Types named in the signature of another exported declaration: its users need them,
 * imported by name or not.
 */
function namesSpokenByExports(declarations: readonly ExportedDeclaration[]): ReadonlySet<string> {
  const spoken = new Set<string>();
  for (const { name, node } of declarations) {
    walk(node, (inner) => {
      const isName =
        ts.isTypeReferenceNode(inner) || ts.isExpressionWithTypeArguments(inner) || ts.isTypeQueryNode(inner);
      if (!isName) return;
      const text = (
        ts.isTypeReferenceNode(inner) ? inner.typeName : ts.isTypeQueryNode(inner) ? inner.exprName : inner.expression
      ).getText();
      if (text !== name) spoken.add(text);
    });
  }
  return spoken;
}

function has(names: Set<string> | "all" | undefined, name: string): boolean {
  return names === "all" || (names?.has(name) ?? false);
}

function isLookedUp(path: string, name?: string): boolean {
  return LOOKED_UP.some((entry) => entry.file.test(path) && (name === undefined || entry.name.test(name)));
}

/**
 * Files that run by themselves: named by a launcher, the Makefile, a script or another program, or
 * asking `import.meta.main`.
 */
export function findPrograms(files: Files, starters: Files): ReadonlySet<string> {
  const programs = new Set([...files].filter(([, text]) => text.includes("import.meta.main")).map(([path]) => path));
  // A program may start another by the name that it has once built: join(folder, "server.js").
  const started = new Set(
    [...files.values()].flatMap((text) =>
      [...text.matchAll(/["'`/]([\w.-]+)\.js["'`]/g)].map((match) => `${match[1] ?? ""}.ts`),
    ),
  );
  for (const path of files.keys()) if (started.has(posix.basename(path))) programs.add(path);
  for (const [starter, text] of starters) {
    const workspace = starter.split("/", 1)[0] ?? "";
    for (const match of text.matchAll(/(?:\$workspace|([\w-]+))\/dist\/([\w/-]+)\.js/g))
      programs.add(`${match[1] ?? workspace}/src/${match[2] ?? ""}.ts`);
    for (const match of text.matchAll(/[\w./-]+\.ts\b/g)) programs.add(match[0]);
  }
  return programs;
}

if (import.meta.main) {
  const files = readFiles(process.cwd(), isTypeScript);
  const starters = readFiles(
    process.cwd(),
    (path) =>
      path === "Makefile" ||
      /^[^/]+\/bin\//.test(path) ||
      path.endsWith(".sh") ||
      path === "tools/gates/gates.ts" ||
      path === "tools/generate/generators.ts",
  );
  reportFindings(findUnusedExports(files, findPrograms(files, starters)));
}
