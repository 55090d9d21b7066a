// Writes docs/settings.md: the settings of every program, from what its settings.ts describes. Run with --conditions=source; --check compares only.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { emitPage, inlineCode, markdownTable } from "./generated-page.ts";
import { WORKSPACES } from "./layout.ts";
import { listFiles } from "./source-tree.ts";

/** Where the page goes. */
const PAGE = "docs/settings.md";

/** One setting, as the settings reader describes it. */
export interface DescribedSetting {
  /** The name, then its aliases. */
  readonly names: readonly string[];
  readonly type: string;
  /** Empty when there is none. */
  readonly default: string;
  readonly effect: string;
}

/** The settings of one program. */
export interface SettingsSection {
  /** What a person types to start it. */
  readonly program: string;
  readonly settings: readonly DescribedSetting[];
}

/** The page that lists `sections`. */
export function formatSettingsPage(sections: readonly SettingsSection[]): string {
  const parts = sections.flatMap(({ program, settings }) => [
    `## ${inlineCode(program)}`,
    markdownTable(
      ["Setting", "Type", "Default", "Effect"],
      settings.map((setting) => [
        formatNames(setting.names),
        setting.type,
        setting.default === "" ? "not set" : inlineCode(setting.default),
        setting.effect,
      ]),
    ),
  ]);
  return [
    "# Settings",
    "<!-- Written by tools/generate-settings-docs.ts from the settings.ts of each program: change those, then run `make generate`. -->",
    "Programs read their settings from the environment, once, when they start. A setting that is set to nothing counts as not set. When several values are wrong, " +
      "one message lists all of them. `--help` of each program prints the same tables.",
    ...parts,
    "",
  ].join("\n\n");
}

function formatNames([name = "", ...aliases]: readonly string[]): string {
  return aliases.length === 0 ? inlineCode(name) : `${inlineCode(name)}, also ${aliases.map(inlineCode).join(", ")}`;
}

/** What every `settings.ts` of the tree exports as `describe…Settings`. */
async function readSections(root: string): Promise<readonly SettingsSection[]> {
  const sections: SettingsSection[] = [];
  for (const workspace of WORKSPACES) {
    for (const path of listFiles(
      root,
      (candidate) => candidate.startsWith(`${workspace.name}/src/`) && candidate.endsWith("/settings.ts"),
    )) {
      const exported = (await import(pathToFileURL(`${root}/${path}`).href)) as Record<string, unknown>;
      for (const [name, describe] of Object.entries(exported)) {
        if (!/^describe\w*Settings$/.test(name) || typeof describe !== "function") continue;
        sections.push({ program: programOf(root, path), settings: (describe as () => readonly DescribedSetting[])() });
      }
    }
  }
  return sections;
}

/** The program that reads the settings in `path`: the workspace's command that runs main.js, or for the local stack the task that starts it. */
function programOf(root: string, path: string): string {
  const workspace = path.split("/", 1)[0] ?? "";
  if (path === "e2e/src/stack/settings.ts") return "make run";
  const manifest = JSON.parse(readFileSync(`${root}/${workspace}/package.json`, "utf8")) as { bin?: Record<string, string> };
  const commands = Object.entries(manifest.bin ?? {}).filter(([, launcher]) =>
    readFileSync(`${root}/${workspace}/${launcher}`, "utf8").includes("/dist/main.js"),
  );
  const command = commands[0]?.[0];
  if (command === undefined) throw new Error(`Cannot tell which program reads ${path}: no launcher of ${workspace} runs main.js`);
  return command;
}

if (import.meta.main) await emitPage(PAGE, formatSettingsPage(await readSections(process.cwd())));
