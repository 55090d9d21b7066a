// The main table of `make bench`: every server under every load.
import type { MeasuredServer } from "./measured-server.ts";
import type { MeasureOptions, Sample } from "./measurement.ts";
import { measure } from "./measurement.ts";
import { formatNumber, formatShare, formatTable, formatThousands, spreadOf } from "../summary.ts";
import type { Question } from "./workload.ts";
import { OPEN_LOOP, PIPELINED, UNBATCHED } from "./workload.ts";

/** What is measured under every load. */
export interface DecisionRow {
  readonly name: string;
  readonly server: MeasuredServer;
  readonly question: Question;
}

const LOADS = [PIPELINED, UNBATCHED, OPEN_LOOP] as const;

/** The figures of the table. */
const COLUMNS: readonly (readonly [
  head: string,
  read: (sample: Sample) => number,
  print: (all: number[]) => string,
])[] = [
  [
    "Decisions per second, one core",
    ({ report }) => report.answers / report.seconds,
    (all) => formatThousands(spreadOf(all)),
  ],
  ["CPU µs per decision", (sample) => sample.cpuMicrosPerDecision, (all) => formatNumber(spreadOf(all), 1)],
  ["p50 ms", ({ report }) => report.p50Ms, (all) => formatNumber(spreadOf(all), 2)],
  ["p99 ms", ({ report }) => report.p99Ms, (all) => formatNumber(spreadOf(all), 2)],
  ["RSS MiB", (sample) => sample.residentMebibytes, (all) => formatNumber(spreadOf(all), 0)],
  ["Kept waiting", (sample) => sample.waitedShare, (all) => formatShare(Math.max(...all))],
  ["Generator", ({ report }) => report.generatorLoad, (all) => formatShare(Math.max(...all))],
];

/**
 * Measures all rows under all loads, in turn, `rounds` times. The result is keyed for
 * formatDecisions().
 */
export async function measureDecisions(
  rows: readonly DecisionRow[],
  rounds: number,
  options: MeasureOptions,
  progress: (text: string) => void,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= rounds; round++) {
    for (const load of LOADS) {
      for (const { name, server, question } of rows) {
        progress(`round ${round} of ${rounds}: ${load.name} over ${name}`);
        const key = keyOf(load.name, name);
        samples.set(key, [...(samples.get(key) ?? []), await measure(server, { load, question }, options)]);
      }
    }
  }
  return samples;
}

/** The table. */
export function formatDecisions(rows: readonly DecisionRow[], samples: ReadonlyMap<string, readonly Sample[]>): string {
  const cells = LOADS.flatMap((load) =>
    rows.map(({ name }) => {
      const all = samples.get(keyOf(load.name, name)) ?? [];
      return [load.name, name, ...COLUMNS.map(([, read, print]) => print(all.map(read)))];
    }),
  );
  return formatTable(["Load", "Server", ...COLUMNS.map(([head]) => head)], cells);
}

function keyOf(load: string, row: string): string {
  return `${load}|${row}`;
}
