// The main table of `make bench`: every server under every load.
import type { MeasuredServer } from "./measured-server.ts";
import type { MeasureOptions, Sample } from "./measurement.ts";
import { measure } from "./measurement.ts";
import type { Spread } from "../summary.ts";
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
      const spread = (read: (sample: Sample) => number): Spread => spreadOf(all.map(read));
      return [
        load.name,
        name,
        formatThousands(spread(({ report }) => report.answers / report.seconds)),
        formatNumber(
          spread(({ cpuMicrosPerDecision }) => cpuMicrosPerDecision),
          1,
        ),
        formatNumber(
          spread(({ report }) => report.p50Ms),
          2,
        ),
        formatNumber(
          spread(({ report }) => report.p99Ms),
          2,
        ),
        formatNumber(
          spread(({ residentMebibytes }) => residentMebibytes),
          0,
        ),
        formatShare(Math.max(...all.map(({ waitedShare }) => waitedShare))),
        formatShare(Math.max(...all.map(({ report }) => report.generatorLoad))),
      ];
    }),
  );
  const head = ["Load", "Server", "Decisions per second, one core", "CPU µs per decision", "p50 ms", "p99 ms"];
  return formatTable([...head, "RSS MiB", "Kept waiting", "Generator"], cells);
}

function keyOf(load: string, row: string): string {
  return `${load}|${row}`;
}
