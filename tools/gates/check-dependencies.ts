// Gate: docs/dependencies.md has a row for each package of any package.json, and no others. That
// packages are declared and used is knip's matter (knip.config.ts).
import { globSync, readFileSync } from "node:fs";
import { reportFindings, type Finding } from "./findings.ts";

/** The page that gives the reason for each package. */
const REASONS_PAGE = "docs/dependencies.md";

/** Everything wrong with the page, given it and every package.json. */
export function findReasonProblems(files: ReadonlyMap<string, string>): readonly Finding[] {
  const file = REASONS_PAGE;
  // Rows start with the package's name in back-quotes: "| `zod` | …".
  const rows = (files.get(file) ?? "").split("\n").flatMap((text, index) => {
    const name = /^\| *`([^`]+)`/.exec(text)?.[1];
    return name === undefined ? [] : [{ name, line: index + 1, cells: text.split("|").slice(1, -1) }];
  });
  const declared = new Set([...files].flatMap(([path, text]) => (path === file ? [] : packagesOf(text))));
  return [
    ...[...declared.difference(new Set(rows.map(({ name }) => name)))].map((name) => ({
      file,
      rule: "reason",
      message: `${name} has no row: say what it does, who keeps it, and why not our own`,
    })),
    ...rows
      .filter(({ name }) => !declared.has(name))
      .map(({ name, line }) => ({
        file,
        line,
        rule: "reason",
        message: `${name} is in no package.json: remove the row`,
      })),
    ...rows
      .filter(({ cells }) => cells.some((cell) => cell.trim() === ""))
      .map(({ name, line }) => ({ file, line, rule: "reason", message: `The row of ${name} has an empty cell` })),
  ];
}

function packagesOf(manifest: string): readonly string[] {
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, object | undefined>;
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !name.startsWith("@weir/"));
}

if (import.meta.main) {
  const paths = [REASONS_PAGE, "package.json", ...globSync("*/package.json")];
  reportFindings(findReasonProblems(new Map(paths.map((path) => [path, readFileSync(path, "utf8")]))));
}
