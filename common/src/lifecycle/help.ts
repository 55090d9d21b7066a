// Formats the text of --help.
import type { SettingRow } from "../settings/read-env.ts";
import { formatSettings, wrapText } from "../settings/settings-table.ts";

/** Widest and narrowest text, in columns. */
const COLUMNS_MAX = 100;
const COLUMNS_MIN = 40;

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
    ...flags.map((flag) => formatFlag(flag, width)),
    ...(text.settings.length === 0
      ? []
      : ["\nSettings (environment variables):\n\n", formatSettings(text.settings, width)]),
  ].join("");
}

function formatFlag({ flag, effect }: ProgramFlag, width: number): string {
  const lines = wrapText(effect, width - 6).map((line) => `      ${line}\n`);
  return `  ${flag}\n${lines.join("")}`;
}
