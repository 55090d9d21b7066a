// The parts of the documentation that are made from the results of a run, as Markdown.
import { judgeBars } from "./bars.ts";
import { plotResults } from "./report-plot.ts";
import { formatBars, formatResults } from "./report-tables.ts";
import { type BenchResults, figureOf, findRow, isMeasurable } from "./results.ts";

/** The texts, by the place that they are written to. */
export interface DocumentedResults {
  /** Blocks of docs/benchmarks.md, by name. */
  readonly page: Readonly<Record<string, string>>;
  /** Blocks of docs/benchmark-trials.md, by name. */
  readonly trials: Readonly<Record<string, string>>;
  /** Blocks of README.md, by name. */
  readonly readme: Readonly<Record<string, string>>;
  /** The picture, docs/benchmarks.svg. */
  readonly plot: string;
}

/** Everything that is made from `results`. */
export function documentResults(results: BenchResults): DocumentedResults {
  const headline = headlineOf(results);
  return {
    page: {
      summary: `${headline}\n\n![${alternativeText(results)}](benchmarks.svg)`,
      results: [
        `${results.date}, commit ${results.commit}; ${results.method}.`,
        results.machine.map((line) => `- ${line}`).join("\n"),
        ...(results.against === null ? [] : [`The earlier commit is ${results.against}.`]),
        formatResults(results),
      ].join("\n\n"),
      settings: Object.entries(results.settings)
        .map(([name, text]) => `- ${name}: \`${text}\``)
        .join("\n"),
    },
    trials: { bars: formatBars(results) },
    readme: {
      speed: `${headline} [Benchmarks](docs/benchmarks.md) has the other loads, and \`make bench\` repeats them.`,
    },
    plot: plotResults(results),
  };
}

/** The one figure that matters, in a sentence or two. */
function headlineOf(results: BenchResults): string {
  const weir = findRow(results, "redis", "8x64", "weir");
  const other = findRow(results, "redis", "8x64", "envoyproxy/ratelimit");
  if (weir === undefined || other === undefined) return "The last run has no figures over Redis.";
  const medians = (read: Parameters<typeof figureOf>[1]): readonly [number, number] => [
    figureOf(weir, read)?.median ?? NaN,
    figureOf(other, read)?.median ?? NaN,
  ];
  const [ours, theirs] = medians(({ perSecond }) => perSecond);
  const [cpu, theirCpu] = medians(({ cpuMicrosPerDecision }) => cpuMicrosPerDecision);
  const costs = `a decision costs ${cpu.toFixed(1)} µs of processor time, and ${theirCpu.toFixed(0)} µs there`;
  if (![weir, other].every((row) => isMeasurable(results, row)))
    return `Over the same Redis, with 100,000 keys, ${costs}.`;
  const bars = judgeBars(results);
  const timesOf = (load: string): number | undefined =>
    bars.find(({ bar: { row, by } }) => row[0] === "redis" && row[1] === load && by !== undefined)?.value?.median;
  const ratio = timesOf("8x64") ?? ours / theirs;
  const alone = timesOf("16x1");
  return (
    `On one core, over the same Redis and with 100,000 keys, Weir decides ${inThousands(ours)} requests a second and ` +
    `envoyproxy/ratelimit ${inThousands(theirs)}: **${ratio.toFixed(1)} times as many**; ${costs}.` +
    (alone === undefined
      ? ""
      : ` With one call at a time on each of 16 connections it is ${alone.toFixed(1)} times as many.`)
  );
}

function inThousands(value: number): string {
  return `${Math.round(value / 1000).toLocaleString("en-US")},000`;
}

function alternativeText(results: BenchResults): string {
  return `Decisions per second of one core over Redis, Weir and envoyproxy/ratelimit, commit ${results.commit}`;
}
