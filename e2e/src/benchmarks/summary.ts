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

/** The smallest value that so many of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? NaN;
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

/** The ratios of two figures within each round; without the rounds that have none, such as of a stalled machine. */
export function ratiosOf(ours: readonly number[], theirs: readonly number[]): Spread {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? NaN)).filter(Number.isFinite);
  return spreadOf(ratios.length > 0 ? ratios : [NaN]);
}

/** Most that a change may cost, as a ratio to the commit before it: the median over all rows, and each row. */
const COST_MAX = { median: 1.03, row: 1.1 } as const;

/** Formats the cost of a change in each row, and compares the median over all rows and the highest with COST_MAX. */
export function formatCost(rows: readonly { readonly name: string; readonly ratio: Spread }[]): string {
  const table = formatTable(
    ["Row", "Processor time, ratio to the earlier commit"],
    rows.map(({ name, ratio }) => [name, formatNumber(ratio, 3)]),
  );
  const measured = rows.filter(({ ratio }) => Number.isFinite(ratio.median));
  const [highest] = measured.toSorted((one, other) => other.ratio.median - one.ratio.median);
  if (highest === undefined) return table;
  const { median } = spreadOf(measured.map(({ ratio }) => ratio.median));
  const verdict = (value: number, bar: number): string =>
    `${value.toFixed(3)} (≤ ${bar.toFixed(2)} ${value <= bar ? "PASS" : "MISS"})`;
  const total = `Median of ${measured.length} rows: ${verdict(median, COST_MAX.median)}`;
  return `${table}\n\n${total}; highest: ${verdict(highest.ratio.median, COST_MAX.row)}, ${highest.name}`;
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
