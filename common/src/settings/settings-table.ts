// Formats a table of settings for a terminal.
import type { SettingRow } from "./read-env.ts";

const NAME_INDENT = "  ";
const TEXT_INDENT = "      ";

/**
 * The settings as plain text of at most `width` columns: each name with type and default, then its
 * aliases and effect.
 */
export function formatSettings(rows: readonly SettingRow[], width: number): string {
  return rows.map((row) => formatRow(row, width)).join("");
}

/**
 * Breaks the text at its spaces into lines of at most `width` characters; a longer word has its own
 * line.
 */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function formatRow(row: SettingRow, width: number): string {
  const [primary = "", ...aliases] = row.names;
  const fallback = row.default === "" ? "not set" : row.default;
  const alias = aliases.length === 0 ? "" : ` Also named ${aliases.join(", ")}.`;
  const text = wrapText(row.effect + alias, width - TEXT_INDENT.length).map((line) => `${TEXT_INDENT}${line}\n`);
  return `${NAME_INDENT}${primary}  (${row.type}; default ${fallback})\n${text.join("")}`;
}
