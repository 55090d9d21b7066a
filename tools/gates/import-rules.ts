// Turns the table of layout.ts into rules for dependency-cruiser. It runs nothing; check-imports.ts
// does.
import type { IRegularForbiddenRuleType } from "dependency-cruiser";
import type { Workspace } from "../layout.ts";
import { TEST_FILE, TOOLS_FOLDER } from "../layout.ts";

/** Sources that ship: not tests, and not the suites that only tests import. */
const NOT_A_TEST = TEST_FILE.source;

/**
 * Everything that `workspaces` forbid, and what is forbidden everywhere. Names are unique:
 * `rule/workspace/folder`.
 */
export function importRules(workspaces: readonly Workspace[]): IRegularForbiddenRuleType[] {
  return [
    ...generalRules(workspaces),
    ...workspaces.flatMap((workspace) => [
      ...matrixRules(workspace, workspaces),
      ...orderRules(workspace),
      ...alternativeRules(workspace),
    ]),
  ];
}

function generalRules(workspaces: readonly Workspace[]): IRegularForbiddenRuleType[] {
  const anyWorkspace = `^(${workspaces.map((workspace) => workspace.name).join("|")})/`;
  const ships = { path: `${anyWorkspace}src/`, pathNot: [NOT_A_TEST, "^(dev|e2e|harness)/"] };
  return [
    rule(
      "no-cycle",
      "Files must not import each other in a circle: move what both need into a third file",
      {},
      { circular: true },
    ),
    rule(
      "no-orphan",
      "No file imports this one and it imports none: it does nothing",
      { orphan: true, pathNot: ["\\.d\\.ts$", "\\.config\\.ts$"] },
      {},
    ),
    rule("no-development-package", "Sources that ship must not import a devDependency", ships, {
      dependencyTypes: ["npm-dev"],
      dependencyTypesNot: ["type-only"],
    }),
    rule("no-test-import", "Only tests import tests and their suites", { pathNot: NOT_A_TEST }, { path: NOT_A_TEST }),
    rule("tools-apart", "Workspaces do not know the tools", { path: anyWorkspace }, { path: `^${TOOLS_FOLDER}/` }),
    rule(
      "tools-load",
      "Tools load what they need of a workspace at run time",
      { path: `^${TOOLS_FOLDER}/` },
      { path: anyWorkspace },
    ),
  ];
}

/**
 * The import matrix: what `workspace` may not import at all, and what only its tests may.
 */
function matrixRules(workspace: Workspace, workspaces: readonly Workspace[]): IRegularForbiddenRuleType[] {
  const from = { path: `^${workspace.name}/` };
  const { mayImport: allowed, testsMayImport = [] } = workspace;
  const forbidden = workspaces
    .map((other) => other.name)
    .filter((name) => name !== workspace.name && !allowed.includes(name) && !testsMayImport.includes(name));
  const rules = [
    rule(
      `import-matrix/${workspace.name}`,
      `${workspace.name} may import ${allowed.join(", ") || "no workspace"} only`,
      from,
      {
        path: `^(${forbidden.join("|")})/`,
      },
    ),
  ];
  for (const name of testsMayImport) {
    const comment = `Only tests of ${workspace.name} may import ${name}`;
    rules.push(
      rule(`import-matrix/${workspace.name}/${name}`, comment, { ...from, pathNot: NOT_A_TEST }, { path: `^${name}/` }),
    );
  }
  return rules;
}

/**
 * The order of folders inside one workspace. A type may come from a later folder, since that is how
 * an interface is handed in (folder cycles are refused all the same); a value may not. Files
 * directly under `src/` that the table does not name are known to each other only.
 */
function orderRules(workspace: Workspace): IRegularForbiddenRuleType[] {
  const source = `^${workspace.name}/src/`;
  return workspace.order.map((entry, index) => {
    const later = workspace.order.slice(index + 1).map(entryPattern);
    const unlisted = `(?!(${workspace.order.map(entryPattern).join("|")}))`;
    return rule(
      `folder-order/${workspace.name}/${entry}`,
      `${entry} of ${workspace.name} may import only what precedes it: ${workspace.order.slice(0, index).join(", ") || "nothing"}`,
      { path: `${source}${entryPattern(entry)}`, pathNot: NOT_A_TEST },
      { path: `${source}(${[...later, unlisted].join("|")})`, dependencyTypesNot: ["type-only"] },
    );
  });
}

/** Sub-folders that are alternatives of each other do not import each other. */
function alternativeRules(workspace: Workspace): IRegularForbiddenRuleType[] {
  return (workspace.alternatives ?? []).map((entry) => {
    const [, folder = entry, names] = /^(.*)\/\{(.*)\}$/.exec(entry) ?? [];
    const path = `^${workspace.name}/src/${folder}/(${names?.replaceAll(",", "|") ?? "[^/]+"})/`;
    const comment = `Implementations under ${folder} must not know each other: what they share is in ${folder} itself`;
    return rule(
      `alternatives-apart/${workspace.name}/${entry}`,
      comment,
      { path, pathNot: NOT_A_TEST },
      { path, pathNot: `^${workspace.name}/src/${folder}/$1/` },
    );
  });
}

function rule(
  name: string,
  comment: string,
  from: IRegularForbiddenRuleType["from"],
  to: IRegularForbiddenRuleType["to"],
): IRegularForbiddenRuleType {
  return { name, comment, severity: "error", from, to };
}

/**
 * Pattern of a path that starts with `entry`: a file by its whole name, a folder by its name and a
 * slash.
 */
function entryPattern(entry: string): string {
  return entry.endsWith(".ts") ? `${entry.replace(".", "\\.")}$` : `${entry}/`;
}
