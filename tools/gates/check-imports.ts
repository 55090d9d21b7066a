// Gate: who imports whom. Runs dependency-cruiser with the rules of import-rules.ts over the
// workspaces and the tools, and looks for circles of folders, which need a view of the whole. Which
// imports are allowed is said in layout.ts.
import { existsSync, readdirSync } from "node:fs";
import type { IModule, IViolation } from "dependency-cruiser";
import { cruise } from "dependency-cruiser";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { importRules } from "./import-rules.ts";
import type { Workspace } from "../layout.ts";
import { TEST_FILE, TOOLS_FOLDER, WORKSPACES } from "../layout.ts";

/**
 * Everything wrong with the imports of the tree under `root`. The process must not change its
 * working directory meanwhile.
 */
export async function findImportProblems(root: string, workspaces: readonly Workspace[]): Promise<readonly Finding[]> {
  const folders = [...workspaces.map((workspace) => `${workspace.name}/src`), TOOLS_FOLDER].filter((folder) =>
    existsSync(`${root}/${folder}`),
  );
  if (folders.length === 0) return [];
  const forbidden = importRules(workspaces);
  const { output } = await cruise(
    folders,
    {
      baseDir: root,
      validate: true,
      ruleSet: { forbidden },
      tsPreCompilationDeps: true,
      parser: "tsc",
      doNotFollow: { path: ["(^|/)node_modules/"] },
      exclude: { path: ["^[^/]+/dist/"] },
    },
    {
      conditionNames: ["source", "import", "default", "node"],
      exportsFields: ["exports"],
      extensions: [".ts", ".js", ".json"],
      modules: ["node_modules"],
    },
  );
  if (typeof output === "string")
    throw new Error(`Cannot check imports: dependency-cruiser answered with text: ${output}`);
  const comments = new Map(forbidden.map((rule) => [rule.name ?? "", rule.comment ?? ""]));
  return [
    ...output.summary.violations.map((violation) => toFinding(violation, comments)),
    ...findFolderCycles(output.modules),
    ...findUnlistedFolders(folders, root, workspaces),
  ];
}

/**
 * Circles between the folders of one workspace, tests left out: `decide → counters → decide`. Types
 * count.
 */
export function findFolderCycles(modules: readonly Pick<IModule, "source" | "dependencies">[]): readonly Finding[] {
  const edges = new Map<string, Map<string, string>>();
  for (const module of modules) {
    const from = folderOf(module.source);
    if (from === undefined || TEST_FILE.test(module.source)) continue;
    const targets = edges.get(from) ?? new Map<string, string>();
    edges.set(from, targets);
    for (const dependency of module.dependencies) {
      const to = folderOf(dependency.resolved);
      if (to !== undefined && to !== from && workspaceOf(to) === workspaceOf(from)) targets.set(to, module.source);
    }
  }
  const seen = new Set<string>();
  const circleBehind = (path: readonly string[]): readonly string[] | undefined => {
    const last = path.at(-1) ?? "";
    if (path.indexOf(last) < path.length - 1) return path.slice(path.indexOf(last));
    if (seen.has(last)) return undefined;
    seen.add(last);
    const targets = [...(edges.get(last)?.keys() ?? [])];
    return targets.map((next) => circleBehind([...path, next])).find((circle) => circle !== undefined);
  };
  return [...edges.keys()].flatMap((start) => {
    const circle = circleBehind([start]);
    if (circle === undefined) return [];
    const [from = "", to = ""] = circle;
    const file = edges.get(from)?.get(to) ?? from;
    const message = `Folders must not import each other in a circle: ${circle.join(" → ")}`;
    return [{ file, rule: "no-folder-cycle", message }];
  });
}

/** Folders that have no place in the order of their workspace: no rule would hold for them. */
function findUnlistedFolders(
  folders: readonly string[],
  root: string,
  workspaces: readonly Workspace[],
): readonly Finding[] {
  return workspaces.flatMap(({ name, order }) => {
    const source = `${name}/src`;
    if (!folders.includes(source)) return [];
    const present = readdirSync(`${root}/${source}`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return present
      .filter((folder) => !order.includes(folder.name))
      .map((folder) => ({
        file: `${source}/${folder.name}`,
        rule: "unlisted-folder",
        message: `Give ${folder.name} its place in the order of ${name} in tools/layout.ts`,
      }));
  });
}

/**
 * `limits/src/rules/x.ts` → `limits/src/rules`; undefined for a file directly
 * under `src`.
 */
function folderOf(path: string): string | undefined {
  return /^[^/]+\/src\/[^/]+(?=\/)/.exec(path)?.[0];
}

function workspaceOf(folder: string): string | undefined {
  return folder.split("/", 1)[0];
}

function toFinding(violation: IViolation, comments: ReadonlyMap<string, string>): Finding {
  const comment = comments.get(violation.rule.name) ?? "Not allowed";
  const target = violation.cycle?.map((step) => step.name).join(" → ") ?? violation.unresolvedTo ?? violation.to;
  const place = violation.type === "module" ? "" : `; it imports ${target}`;
  return { file: violation.from, rule: violation.rule.name, message: `${comment}${place}` };
}

if (import.meta.main) reportFindings(await findImportProblems(process.cwd(), WORKSPACES));
