// Writes the block of docs/errors.md: every error code of every workspace, from the tables in their errors.ts.
// Run with --conditions=source; --check compares only.
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { emitBlocks, inlineCode, markdownTable } from "./generated-page.ts";
import { WORKSPACES } from "../layout.ts";

const PAGE = "docs/errors.md";

/** One table of a workspace, as its file exports it. */
export interface ErrorSection {
  readonly workspace: string;
  /** First sentence or two about the table, from its doc comment. */
  readonly intro: string;
  readonly entries: Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;
}

/** The block of the page that explains `sections`. */
export function formatErrors(sections: readonly ErrorSection[]): string {
  const workspaces = [...new Set(sections.map((section) => section.workspace))];
  const parts = workspaces.flatMap((workspace) => [
    `## ${workspace}`,
    ...sections
      .filter((section) => section.workspace === workspace)
      .flatMap(({ intro, entries }) => {
        const rows = Object.entries(entries).map(([code, { meaning, remedy }]) => [
          inlineCode(code),
          sentence(meaning),
          sentence(remedy),
        ]);
        return [intro, markdownTable(["Code", "What it means", "What to do"], rows)];
      }),
  ]);
  return parts.join("\n\n");
}

/** `text` with its full stop. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/**
 * The tables of every `errors.ts` directly under a workspace's `src`: exports whose names end in
 * `_ERRORS`.
 */
async function readSections(root: string): Promise<readonly ErrorSection[]> {
  const sections: ErrorSection[] = [];
  for (const workspace of WORKSPACES) {
    const path = `${workspace.name}/src/errors.ts`;
    if (!existsSync(`${root}/${path}`)) continue;
    const text = readFileSync(`${root}/${path}`, "utf8");
    const exported = (await import(pathToFileURL(`${root}/${path}`).href)) as Record<string, unknown>;
    for (const [name, table] of Object.entries(exported)) {
      if (!name.endsWith("_ERRORS")) continue;
      sections.push({
        workspace: workspace.name,
        intro: docCommentOf(text, name),
        entries: table as ErrorSection["entries"],
      });
    }
  }
  return sections;
}

/** The doc comment above the constant `name`, on one line. Throws when there is none: the page would have a hole. */
export function docCommentOf(text: string, name: string): string {
  const comment = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\nexport const ${name}\\b`).exec(text)?.[1];
  if (comment === undefined) throw new Error(`Cannot describe ${name}: it has no doc comment`);
  const words = comment.replaceAll(/^ *\*/gm, "").replaceAll(/\s+/g, " ").trim();
  return words.replaceAll(/\{@link (\w+)\}/g, "$1");
}

if (import.meta.main) await emitBlocks(PAGE, { errors: formatErrors(await readSections(process.cwd())) });
