// Writes the blocks of docs/settings.md: the settings of every program, from what its settings.ts describes; a
// program that describes them in groups has a page of its own, such as docs/ratelimit-settings.md.
// Run with --conditions=source; --check compares only.
import { globSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { emitBlocks, inlineCode, markdownTable } from "./generated-page.ts";
import { WORKSPACES } from "../layout.ts";

/** The page of all programs. */
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
  /** The command that starts it. */
  readonly program: string;
  /** Its settings, or the page where they stand. */
  readonly settings: readonly DescribedSetting[] | string;
}

/** Settings about one thing, of a program with a page of its own. */
export interface DescribedGroup {
  readonly title: string;
  readonly rows: readonly DescribedSetting[];
}

/** A program with a page of its own. */
export interface GroupedSettings {
  /** Page below docs/. */
  readonly page: string;
  readonly groups: readonly DescribedGroup[];
  /** Variables without effect that an operator may set. */
  readonly withoutEffect: readonly { readonly name: string; readonly reason: string }[];
}

/** The block of the page that lists `sections`. */
export function formatSettings(sections: readonly SettingsSection[]): string {
  const parts = sections.flatMap(({ program, settings }) => [
    `## ${inlineCode(program)}`,
    typeof settings === "string" ? `See [its own page](${settings}).` : formatTable(settings),
  ]);
  return parts.join("\n\n");
}

/** The blocks of the page of a program whose settings are many. */
export function formatGroups({
  groups,
  withoutEffect,
}: Omit<GroupedSettings, "page">): Readonly<Record<"settings" | "without effect", string>> {
  return {
    settings: [
      groups.map(({ title }) => `- [${title}](#${anchorOf(title)})`).join("\n"),
      ...groups.flatMap(({ title, rows }) => [`## ${title}`, formatTable(rows)]),
    ].join("\n\n"),
    "without effect": markdownTable(
      ["Variable", "Why"],
      withoutEffect.map(({ name, reason }) => [
        inlineCode(name),
        `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
      ]),
    ),
  };
}

function formatTable(settings: readonly DescribedSetting[]): string {
  return markdownTable(
    ["Setting", "Type", "Default", "Effect"],
    settings.map((setting) => [
      formatNames(setting.names),
      setting.type,
      setting.default === "" ? "not set" : inlineCode(setting.default),
      setting.effect,
    ]),
  );
}

/** The place of a heading, as GitHub makes it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function formatNames([name = "", ...aliases]: readonly string[]): string {
  return aliases.length === 0 ? inlineCode(name) : `${inlineCode(name)}, also ${aliases.map(inlineCode).join(", ")}`;
}

/**
 * Reads the settings that every `settings.ts` of the tree exports as `describe…Settings`, or as
 * `describeSettingGroups` in addition to `describeSettingsWithoutEffect`.
 */
export async function readSections(
  root: string,
): Promise<{ readonly sections: readonly SettingsSection[]; readonly pages: readonly GroupedSettings[] }> {
  const sections: SettingsSection[] = [];
  const pages: GroupedSettings[] = [];
  for (const workspace of WORKSPACES) {
    for (const path of globSync(`${workspace.name}/src/**/settings.ts`, { cwd: root }).toSorted()) {
      const exported = (await import(pathToFileURL(`${root}/${path}`).href)) as Record<string, unknown>;
      if (!Object.keys(exported).some((name) => /^describe\w*Setting/.test(name))) continue; // Other settings.
      const program = programOf(root, path);
      const { describeSettingGroups, describeSettingsWithoutEffect } = exported;
      if (typeof describeSettingGroups === "function") {
        const page = `${workspace.name}-settings.md`;
        const groups = (describeSettingGroups as () => readonly DescribedGroup[])();
        const withoutEffect = (describeSettingsWithoutEffect as () => GroupedSettings["withoutEffect"])();
        pages.push({ page, groups, withoutEffect });
        sections.push({ program, settings: page });
        continue;
      }
      for (const [name, describe] of Object.entries(exported)) {
        if (!/^describe\w*Settings$/.test(name) || typeof describe !== "function") continue;
        sections.push({ program, settings: (describe as () => readonly DescribedSetting[])() });
      }
    }
  }
  return { sections, pages };
}

/**
 * The program that reads the settings in `path`: the workspace's command that runs main.js, or for
 * the local stack the task that starts it.
 */
function programOf(root: string, path: string): string {
  const workspace = path.split("/", 1)[0] ?? "";
  if (path === "dev/src/settings.ts") return "make run";
  const manifest = JSON.parse(readFileSync(`${root}/${workspace}/package.json`, "utf8")) as {
    bin?: Record<string, string>;
  };
  const commands = Object.entries(manifest.bin ?? {}).filter(([, launcher]) =>
    readFileSync(`${root}/${workspace}/${launcher}`, "utf8").includes("/dist/main.js"),
  );
  const command = commands[0]?.[0];
  if (command === undefined)
    throw new Error(`Cannot find the program that reads ${path}: no launcher of ${workspace} runs main.js`);
  return command;
}

if (import.meta.main) {
  const { sections, pages } = await readSections(process.cwd());
  await emitBlocks(PAGE, { settings: formatSettings(sections) });
  for (const grouped of pages) await emitBlocks(`docs/${grouped.page}`, formatGroups(grouped));
}
