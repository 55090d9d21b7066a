// Writes a page of docs/ that is made from the code, or reports that the committed one is out of date.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { format, resolveConfig } from "prettier";

/**
 * Writes `markdown` to `path`, formatted like every other file; with `--check` on the command line,
 * compares instead and sets the exit code.
 */
export async function emitPage(path: string, markdown: string): Promise<void> {
  const text = await format(markdown, { ...(await resolveConfig(path)), filepath: path });
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
    return;
  }
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  console.log(`${path} generated: The page is not what the code gives: run make generate`);
  process.exitCode = 1;
}

/** A Markdown table. Cells may hold anything; what would break the table is escaped. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => "---"), ...rows.map((row) => row.map(escapeCell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** `text` as code, even if it holds a back-quote. */
export function inlineCode(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
}
