// Lays out a table for a terminal. Pure.
import { displayWidth, padToWidth } from "./display-width.ts";
import { printable } from "./printable.ts";

/** Between the columns. */
const GAP = "   ";

/** A table without trailing spaces; lines of details follow their row. Empty without rows. */
export function tableText(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  details: readonly (readonly string[])[] = [],
): string {
  if (rows.length === 0) return "";
  const cells = [heads, ...rows].map((row) => row.map(printable));
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ""))));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => padToWidth(cell, widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
  return lines
    .flatMap((line, index) => [
      line,
      ...(index === 0 ? [] : (details[index - 1] ?? []).map((detail) => `  ${printable(detail)}`)),
    ])
    .join("\n");
}
