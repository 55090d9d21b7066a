// Gate: what is imported is declared, what is declared is used, and docs/dependencies.md has a row
// for each package. Which workspace may import which other one is check-imports.ts; here it is only
// that the three places that say so agree.
import { builtinModules } from "node:module";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { importsOf } from "./imports.ts";
import type { Workspace } from "../layout.ts";
import { TEST_FILE, WORKSPACES } from "../layout.ts";
import type { Files } from "./source-tree.ts";
import { isTypeScript, readFiles } from "./source-tree.ts";

/** The page that gives the reason for each package. */
const REASONS_PAGE = "docs/dependencies.md";

/** Folder of the root's package.json. */
const ROOT = "";

/** Packages that no file imports, each with what uses it instead. */
const USED_OTHERWISE: ReadonlyMap<string, string> = new Map([
  ["node", "every program runs under it"],
  ["@vitest/coverage-v8", "vitest loads it by name when coverage is asked for"],
  ["@bufbuild/protoc-gen-es", "proto/buf.gen.yaml names it"],
  ["@bufbuild/buf", "proto/generate.sh runs it"],
  ["@grpc/grpc-js-xds", "a test of proto reads the .proto files that it ships"],
]);

interface Manifest {
  /** Folder from the root: "" or the workspace's name. */
  readonly folder: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
  /** Workspaces that its tsconfig.build.json builds first. */
  readonly references: readonly string[];
}

interface Use {
  readonly file: string;
  readonly line: number;
  readonly packageName: string;
  readonly ships: boolean;
}

/**
 * Everything wrong with the packages of the tree whose files are `files`: package.json,
 * tsconfig.build.json, scripts, TypeScript and the page of reasons.
 */
export function findDependencyProblems(files: Files, workspaces: readonly Workspace[]): readonly Finding[] {
  const manifests = [ROOT, ...workspaces.map((workspace) => workspace.name)].flatMap((folder) =>
    readManifest(files, folder),
  );
  const uses = [...files].flatMap(([file, text]) => (isTypeScript(file) ? usesOf(file, text) : []));
  const scripts = [...files].filter(
    ([file]) => !/\.(json|md|proto)$/.test(file) && (!isTypeScript(file) || file === "tools/gates/gates.ts"),
  );
  const commands = scripts.map(([, text]) => text).join("\n");
  const looksUp = (folder: string, name: string): boolean =>
    [...files].some(
      ([file, text]) => isTypeScript(file) && isIn(file, folder, workspaces) && text.includes(`resolve("${name}/`),
    );
  const rootTools = manifests.find((manifest) => manifest.folder === ROOT)?.devDependencies ?? [];
  return [
    ...manifests.flatMap((manifest) => {
      const own = uses.filter((use) => isIn(use.file, manifest.folder, workspaces));
      // What stands at the root is there for everyone.
      return [
        ...findUndeclared(manifest, own, rootTools),
        ...findUnused(manifest, manifest.folder === ROOT ? uses : own, { commands, looksUp }),
      ];
    }),
    ...workspaces.flatMap((workspace) => findMatrixDifferences(workspace, manifests)),
    ...findReasonProblems(files.get(REASONS_PAGE) ?? "", manifests),
  ];
}

function findUndeclared(manifest: Manifest, uses: readonly Use[], rootTools: readonly string[]): readonly Finding[] {
  const forTests = [...manifest.dependencies, ...manifest.devDependencies, ...rootTools];
  const own = `@weir/${manifest.folder}`;
  return uses.flatMap(({ file, line, packageName, ships }) => {
    if (packageName === own)
      return [{ file, line, rule: "own-package", message: `Import files of ${own} by their relative path` }];
    if ((ships ? manifest.dependencies : forTests).includes(packageName)) return [];
    const place = `${manifest.folder === ROOT ? "" : `${manifest.folder}/`}package.json`;
    return [
      {
        file,
        line,
        rule: "undeclared",
        message: `${packageName} must be in the ${ships ? "dependencies" : "devDependencies"} of ${place}`,
      },
    ];
  });
}

/**
 * Other ways than an import: a command of a script, or a file of the package that is looked up by
 * `require.resolve`.
 */
interface OtherUses {
  readonly commands: string;
  readonly looksUp: (folder: string, name: string) => boolean;
}

function findUnused(manifest: Manifest, uses: readonly Use[], { commands, looksUp }: OtherUses): readonly Finding[] {
  const file = manifest.folder === ROOT ? "package.json" : `${manifest.folder}/package.json`;
  const imported = new Set(uses.map((use) => use.packageName));
  const shipped = new Set(uses.filter((use) => use.ships).map((use) => use.packageName));
  const isUsed = (name: string): boolean =>
    imported.has(name) ||
    USED_OTHERWISE.has(name) ||
    imported.has(typedPackage(name)) ||
    looksUp(manifest.folder, name) ||
    new RegExp(`(^|[\\s"'/])${name}([\\s"'\`]|$)`, "m").test(commands);
  return [
    ...[...manifest.dependencies, ...manifest.devDependencies]
      .filter((name) => !isUsed(name) && name !== "@types/node")
      .map((name) => ({ file, rule: "unused-package", message: `Nothing imports or runs ${name}: remove it` })),
    ...manifest.dependencies
      .filter(
        (name) => manifest.folder !== "e2e" && imported.has(name) && !shipped.has(name) && !USED_OTHERWISE.has(name),
      )
      .map((name) => ({ file, rule: "only-tests", message: `Only tests import ${name}: move it to devDependencies` })),
  ];
}

/**
 * A workspace declares only what the table in layout.ts allows, and its tsconfig.build.json builds
 * exactly what it declares.
 */
function findMatrixDifferences(workspace: Workspace, manifests: readonly Manifest[]): readonly Finding[] {
  const manifest = manifests.find((candidate) => candidate.folder === workspace.name);
  if (manifest === undefined)
    return [{ file: "tools/layout.ts", rule: "matrix", message: `${workspace.name} has no package.json` }];
  const table = workspace.mayImport;
  const forTests = workspace.testsMayImport ?? [];
  const declared = [...manifest.dependencies, ...manifest.devDependencies].flatMap((name) =>
    name.startsWith("@weir/") ? [name.slice("@weir/".length)] : [],
  );
  // Tests are not built.
  const built = without(declared, forTests);
  const build = `${workspace.name}/tsconfig.build.json`;
  return [
    ...without(built, table).map((name) => ({
      file: `${workspace.name}/package.json`,
      rule: "matrix",
      message: `tools/layout.ts does not let ${workspace.name} import ${name}`,
    })),
    ...without(built, manifest.references).map((name) => ({
      file: build,
      rule: "matrix",
      message: `${name} is in package.json and must be in "references" too`,
    })),
    ...without(manifest.references, built).map((name) => ({
      file: build,
      rule: "matrix",
      message: `${name} is not in package.json: remove the reference`,
    })),
    ...forTests
      .filter((name) => manifest.dependencies.includes(`@weir/${name}`))
      .map((name) => ({
        file: `${workspace.name}/package.json`,
        rule: "matrix",
        message: `${name} is for tests of ${workspace.name} only: it belongs to devDependencies`,
      })),
  ];
}

function without(names: readonly string[], others: readonly string[]): readonly string[] {
  return names.filter((name) => !others.includes(name));
}

/** Rows start with the package's name in back-quotes: "| `zod` | …". */
function findReasonProblems(page: string, manifests: readonly Manifest[]): readonly Finding[] {
  const rows = page.split("\n").flatMap((text, index) => {
    const name = /^\| *`([^`]+)`/.exec(text)?.[1];
    const isFilled = text
      .split("|")
      .slice(1, -1)
      .every((cell) => cell.trim() !== "");
    return name === undefined ? [] : [{ name, line: index + 1, isFilled }];
  });
  const declared = new Set(
    manifests
      .flatMap((manifest) => [...manifest.dependencies, ...manifest.devDependencies])
      .filter((name) => !name.startsWith("@weir/")),
  );
  const file = REASONS_PAGE;
  return [
    ...[...declared]
      .filter((name) => !rows.some((row) => row.name === name))
      .map((name) => ({
        file,
        rule: "reason",
        message: `${name} has no row: say what it does, who keeps it, and why not our own`,
      })),
    ...rows
      .filter((row) => !declared.has(row.name))
      .map(({ name, line }) => ({
        file,
        line,
        rule: "reason",
        message: `${name} is in no package.json: remove the row`,
      })),
    ...rows
      .filter((row) => !row.isFilled)
      .map(({ name, line }) => ({ file, line, rule: "reason", message: `The row of ${name} has an empty cell` })),
  ];
}

function readManifest(files: Files, folder: string): readonly Manifest[] {
  const at = folder === ROOT ? "" : `${folder}/`;
  const text = files.get(`${at}package.json`);
  if (text === undefined) return [];
  const manifest = JSON.parse(text) as Record<"dependencies" | "devDependencies", Record<string, string> | undefined>;
  const build = JSON.parse(files.get(`${at}tsconfig.build.json`) ?? "{}") as {
    references?: readonly { path: string }[];
  };
  return [
    {
      folder,
      dependencies: Object.keys(manifest.dependencies ?? {}),
      devDependencies: Object.keys(manifest.devDependencies ?? {}),
      references: (build.references ?? []).flatMap((reference) => /^\.\.\/([\w-]+)\//.exec(reference.path)?.[1] ?? []),
    },
  ];
}

function usesOf(file: string, text: string): readonly Use[] {
  // Everything in e2e, in tools and at the root runs on a developer's machine only.
  const ships = !TEST_FILE.test(file) && /^[^/]+\/src\//.test(file) && !file.startsWith("e2e/");
  return importsOf(file, text).flatMap(({ specifier, line, typeOnly }) => {
    const packageName = packageOf(specifier);
    return packageName === undefined
      ? []
      : [{ file, line, packageName, ships: ships && !(typeOnly && packageName.startsWith("@types/")) }];
  });
}

/** `@scope/name/deep` → `@scope/name`; undefined for a file and for what Node brings. */
function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith(".") || specifier.startsWith("node:") || builtinModules.includes(specifier))
    return undefined;
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
}

/** `@types/x` → `x`, `@types/scope__x` → `@scope/x`: the package whose types these are. */
function typedPackage(name: string): string {
  return name.replace(/^@types\/(?:(\w+)__)?/, (_match, scope?: string) => (scope === undefined ? "" : `@${scope}/`));
}

function isIn(file: string, folder: string, workspaces: readonly Workspace[]): boolean {
  const top = file.split("/", 1)[0] ?? "";
  return folder === ROOT ? !workspaces.some((workspace) => workspace.name === top) : top === folder;
}

if (import.meta.main) {
  const wanted = (path: string): boolean =>
    isTypeScript(path) ||
    /(^|\/)(package|tsconfig\.build)\.json$|\.sh$|\.ya?ml$|(^|\/)Makefile$|^eslint\.config\.js$/.test(path) ||
    path === REASONS_PAGE;
  reportFindings(findDependencyProblems(readFiles(process.cwd(), wanted), WORKSPACES));
}
