// Formats the text of --help.
import type { SettingRow } from "../settings/read-env.ts";

/** Widest and narrowest text, in columns. */
const COLUMNS_MAX = 100;
const COLUMNS_MIN = 40;

const INDENT = "      ";

/** A command line flag: how it is written, such as "-domain NAME", and its effect. */
export interface ProgramFlag {
  readonly flag: string;
  readonly effect: string;
}

/** The contents of the help. */
export interface HelpText {
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  readonly usage?: string;
  readonly flags?: readonly ProgramFlag[];
  readonly settings: readonly SettingRow[];
}

/** Formats the help for a terminal of `columns`. */
export function formatHelp(text: HelpText, columns: number): string {
  const width = Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, columns));
  const usage = text.usage === undefined ? text.name : `${text.name} ${text.usage}`;
  const flags = [
    ...(text.flags ?? []),
    { flag: "--help", effect: "Shows this." },
    { flag: "--version", effect: "Shows the version." },
  ];
  return [
    `${text.name} ${text.version}\n`,
    `${wrapText(text.summary, width).join("\n")}\n\n`,
    `Usage: ${usage}\n\n`,
    ...flags.map(({ flag, effect }) => formatEntry(flag, effect, width)),
    text.settings.length === 0 ? "" : "\nSettings (environment variables):\n\n",
    ...text.settings.map((row) => formatSetting(row, width)),
  ].join("");
}

/** A setting with type and default, then its effect and aliases. */
function formatSetting({ names: [primary = "", ...aliases], type, default: value, effect }: SettingRow, width: number) {
  const title = `${primary}  (${type}; default ${value === "" ? "not set" : value})`;
  return formatEntry(title, aliases.length === 0 ? effect : `${effect} Also named ${aliases.join(", ")}.`, width);
}

function formatEntry(title: string, text: string, width: number): string {
  const lines = wrapText(text, width - INDENT.length).map((line) => `${INDENT}${line}\n`);
  return `  ${title}\n${lines.join("")}`;
}

/** The text in lines of at most `width` characters; a longer word has its own line. */
function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
