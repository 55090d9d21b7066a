// The results of a run as tables, which read in a terminal and in Markdown.
import { formatNumber, formatTable, formatThousands, type Spread } from "../../summary.ts";
import { judgeBars } from "./bars.ts";
import type { Contender } from "../loads.ts";
import { type BenchResults, figureOf, isMeasurable, type Row, type Sample } from "./results.ts";

/** Instead of figures that would be those of the generator. */
const NOT_MEASURABLE = "not measurable here";

/** Columns that say something about the server also when the generator is the limit. */
const OF_SERVER: readonly Column[] = [
  ["CPU µs per decision", ({ cpuMicrosPerDecision }) => cpuMicrosPerDecision, (spread) => formatNumber(spread, 1)],
];
const TIMES: readonly Column[] = [
  ["p50 ms", ({ p50Micros }) => p50Micros, (spread) => milliseconds(spread.median)],
  ["p99 ms", ({ p99Micros }) => p99Micros, (spread) => milliseconds(spread.median)],
  ["p99.9 ms", ({ p999Micros }) => p999Micros, (spread) => milliseconds(spread.median)],
];
const SIZES: readonly Column[] = [
  ["RSS MB", ({ residentBytes }) => residentBytes / 1e6, (spread) => spread.median.toFixed(0)],
  [
    "Redis commands per decision",
    ({ commandsPerDecision }) => commandsPerDecision,
    (spread) => spread.median.toFixed(2),
  ],
  [
    "Redis CPU µs per decision",
    ({ storeCpuMicrosPerDecision }) => storeCpuMicrosPerDecision,
    (spread) => formatNumber(spread, 1),
  ],
  [
    "Longest turn, CPU ms",
    ({ turnCpuMicros }) => turnCpuMicros && turnCpuMicros / 1000,
    (spread) => formatNumber(spread, 1),
  ],
  ["the same, wall ms", ({ turnWallMicros }) => turnWallMicros, (spread) => milliseconds(spread.median)],
];

type Column = readonly [head: string, read: (sample: Sample) => number | undefined, print: (spread: Spread) => string];

/** Every server under every load; without the sizes that no row of the run has. */
export function formatResults(results: BenchResults): string {
  const sizes = SIZES.filter(([, read]) => results.rows.some((row) => figureOf(row, read) !== undefined));
  const head = [
    "Store",
    "Load",
    "Server",
    "Decisions per second",
    ...[...OF_SERVER, ...TIMES, ...sizes].map(([name]) => name),
  ];
  return formatTable(
    head,
    results.rows.map((row) => [
      row.groupTitle,
      row.loadTitle,
      nameOf(row.contender, results),
      ...figuresOf(row, sizes, row.contender === "nothing" || isMeasurable(results, row)),
    ]),
  );
}

/** Every bar with its value and verdict. */
export function formatBars(results: BenchResults): string {
  const rows = judgeBars(results)
    .filter(({ verdict }) => verdict !== "not measured")
    .map(({ bar, value, verdict }) => [
      bar.title,
      `${bar.isAtLeast ? "≥" : "≤"} ${formatBound(bar.bound)} ${bar.unit}`,
      value === undefined ? "" : formatNumber(value, 2),
      verdict,
    ]);
  return formatTable(["Load", "Bar", "Weir", ""], rows);
}

/** The settings of each server. */
export function formatSettings(results: BenchResults): string {
  return Object.entries(results.settings)
    .map(([name, text]) => `${name}: ${text}`)
    .join("\n");
}

/** A server as tables name it. */
function nameOf(contender: Contender, { against }: BenchResults): string {
  if (contender === "weir") return "Weir";
  if (contender === "weir, 2 workers") return "Weir, 2 workers";
  if (contender === "earlier") return `Weir at ${against?.split(" ")[0] ?? "an earlier commit"}`;
  return contender === "nothing" ? "nothing (ceiling)" : contender;
}

function figuresOf(row: Row, sizes: readonly Column[], isCounted: boolean): readonly string[] {
  const cell = ([, read, print]: Column): string => {
    const spread = figureOf(row, read);
    return spread === undefined ? "" : print(spread);
  };
  const perSecond = figureOf(row, (sample) => sample.perSecond);
  const isRate = isCounted && perSecond !== undefined;
  return [
    isRate ? formatThousands(perSecond) : NOT_MEASURABLE,
    ...OF_SERVER.map(cell),
    ...TIMES.map((column) => (isCounted ? cell(column) : "")),
    ...(row.contender === "nothing" ? sizes.map(() => "") : sizes.map(cell)),
  ];
}

function milliseconds(micros: number): string {
  return (micros / 1000).toFixed(micros < 10_000 ? 2 : 0);
}

function formatBound(bound: number): string {
  return bound === 1 / 20 ? "1/20" : String(bound);
}
