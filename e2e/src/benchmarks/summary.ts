// Turns the rounds of a benchmark into what is printed: medians with their range, in a
// plain text table.

/** One figure over all rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Median and range of the values of all rounds; there is at least one. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError("Cannot summarise a benchmark without rounds");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** "24.8 k (23.9–25.1)": thousands with one decimal. */
export function formatThousands(spread: Spread): string {
  const text = (value: number): string => (value / 1000).toFixed(1);
  return `${text(spread.median)} k (${text(spread.min)}–${text(spread.max)})`;
}

/** "40.2 (39.5–41.0)", with as many decimals as asked for. */
export function formatNumber(spread: Spread, decimals: number): string {
  const text = (value: number): string => value.toFixed(decimals);
  return `${text(spread.median)} (${text(spread.min)}–${text(spread.max)})`;
}

/** "31 %"; "unknown" when it could not be measured. */
export function formatShare(share: number): string {
  return Number.isNaN(share) ? "unknown" : `${(share * 100).toFixed(0)} %`;
}

/**
 * "1.08 (1.02–1.13)" with what it may be at most behind it and whether it is; without a bar both
 * cells are empty.
 */
export function ratioCells(
  spread: Spread,
  bar: number | undefined,
): readonly [ratio: string, bar: string, verdict: string] {
  const ratio = formatNumber(spread, 2);
  return bar === undefined ? [ratio, "", ""] : [ratio, `≤ ${bar}`, spread.median <= bar ? "PASS" : "MISS"];
}

/**
 * A Markdown table with columns as wide as their widest cell, so that it reads in a terminal too.
 */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rows.map(line)].join("\n");
}
