// Finds relative links of Markdown pages that lead nowhere, and anchors that no heading has.
import { dirname, join, normalize } from "node:path";

/** The files of the repository. */
export interface LinkedFiles {
  /** Returns true if a file or folder exists. */
  readonly exists: (path: string) => boolean;
  /** The text of a Markdown page that exists. */
  readonly textOf: (page: string) => string;
}

const LINK = /\]\((?<target>[^()\s]+)\)/g;

/** `page:line: problem` of each broken link of the page. */
export function findBrokenLinks(page: string, files: LinkedFiles): readonly string[] {
  const lines = withoutCode(files.textOf(page)).split("\n");
  return lines.flatMap((line, index) =>
    [...line.matchAll(LINK)].flatMap(({ groups }) => {
      const problem = problemOfTarget(page, groups!["target"]!, files);
      return problem === undefined ? [] : [`${page}:${index + 1}: ${problem}`];
    }),
  );
}

/** The anchors of a page, as GitHub makes them of headings and as the page names them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of withoutCode(text, { keepInline: true }).matchAll(/^#{1,6} +(.*)$/gm)) {
    const anchor = slugOf(title);
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  for (const [, id = ""] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id);
  return anchors;
}

function problemOfTarget(page: string, target: string, { exists, textOf }: LinkedFiles): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (!exists(file)) return `${target} does not exist`;
  if (anchor === undefined || !file.endsWith(".md")) return undefined;
  return anchorsOf(textOf(file)).has(anchor) ? undefined : `${file} has no heading #${anchor}`;
}

function slugOf(title: string): string {
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** The text without fenced blocks and code in a line, which are no links; line numbers stay. */
function withoutCode(text: string, { keepInline = false } = {}): string {
  const prose = text.replace(/^(\s*)(`{3,}).*\n[^]*?^\s*\2\s*$/gm, (block) => block.replace(/[^\n]/g, ""));
  return keepInline ? prose : prose.replace(/`[^`\n]*`/g, "");
}
