// Writes a page of docs/ that is made from the code, or reports that the committed one is out of date.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { format, resolveConfig } from "prettier";

/**
 * Writes `markdown` to `path`, formatted like every other file; with `--check` on the command line,
 * compares instead and sets the exit code.
 */
export async function emitPage(path: string, markdown: string): Promise<void> {
  emitText(path, await format(markdown, { ...(await resolveConfig(path)), filepath: path }));
}

/** The same for a text that is not formatted. */
export function emitText(path: string, text: string): void {
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
    return;
  }
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  console.log(`${path} generated: The page is not what the code gives: run make generate`);
  process.exitCode = 1;
}

/** The same for the blocks of a page whose rest is written by hand. */
export async function emitBlocks(path: string, blocks: Readonly<Record<string, string>>): Promise<void> {
  await emitPage(path, replaceBlocks(readFileSync(path, "utf8"), blocks));
}

/**
 * `page` with other texts between its markers `<!-- begin NAME -->` and `<!-- end NAME -->`. Throws when
 * a block is not there: a page would keep what is no longer true.
 */
export function replaceBlocks(page: string, blocks: Readonly<Record<string, string>>): string {
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [at, until] = [text.indexOf(begin), text.indexOf(end)];
    if (at === -1 || until < at) throw new Error(`Cannot write the block ${name}: the page lacks ${begin} or ${end}`);
    return `${text.slice(0, at + begin.length)}\n\n${block}\n\n${text.slice(until)}`;
  }, page);
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
