// The bars of the benchmark: what Weir must reach, and whether it did in a run.
import type { Spread } from "../summary.ts";
import type { Contender } from "./loads.ts";
import { type BenchResults, figureOf, findRow, isMeasurable, ratioOf, type Row, type Sample } from "./results.ts";

/** Most resident memory under load, in bytes. */
const RESIDENT_MAX_BYTES = 120e6;

/** A row by its names. */
type RowName = readonly [group: string, load: string, contender: Contender];

/** A value that Weir must reach. */
export interface Bar {
  readonly title: string;
  /** The value in words, such as "× decisions/s". */
  readonly unit: string;
  readonly isAtLeast: boolean;
  readonly bound: number;
  readonly row: RowName;
  /** The row it is divided by; undefined for a figure by itself. */
  readonly by?: RowName;
  readonly read: (sample: Sample) => number;
  /** The figure does not depend on what the generator reaches. */
  readonly isOfServerAlone?: boolean;
}

/** The result of a bar in a run. */
export interface BarResult {
  readonly bar: Bar;
  readonly value: Spread | undefined;
  readonly verdict: "PASS" | "MISS" | "not measurable here" | "not measured";
}

const perSecond = ({ perSecond: value }: Sample): number => value;
const p99 = ({ p99Micros }: Sample): number => p99Micros;
const cpu = ({ cpuMicrosPerDecision = NaN }: Sample): number => cpuMicrosPerDecision;
const FASTER = { unit: "× decisions/s", isAtLeast: true, read: perSecond } as const;
const GO = "envoyproxy/ratelimit";

/** Every bar. */
const BARS: readonly Bar[] = [
  against("Redis, 100,000 keys, 8 × 64", 15, ["redis", "8x64"]),
  against("Redis, hot key, 8 × 64", 20, ["redis", "8x64-hot"]),
  {
    title: "Redis, hot key, 8 × 64",
    unit: "Redis commands per decision",
    isAtLeast: false,
    bound: 0.2,
    row: ["redis", "8x64-hot", "weir"],
    read: ({ commandsPerDecision = NaN }) => commandsPerDecision,
    isOfServerAlone: true,
  },
  against("Redis, 16 × 1", 4, ["redis", "16x1"]),
  against("Redis, 256 × 1", 5, ["redis", "256x1"]),
  {
    title: "Redis, open loop 5,000/s",
    unit: "× p99",
    isAtLeast: false,
    bound: 0.5,
    row: ["redis", "open-5k", "weir"],
    by: ["redis", "open-5k", GO],
    read: p99,
  },
  against("Over the limit, local cache, 8 × 64", 15, ["over-limit", "8x64"]),
  againstEarlier("Memory, 8 × 64", 20, "8x64"),
  againstEarlier("Memory, 16 × 1", 10, "16x1"),
  {
    title: "Memory, open loop 5,000/s",
    unit: "× p99 of the earlier commit",
    isAtLeast: false,
    bound: 1 / 20,
    row: ["memory", "open-5k", "weir"],
    by: ["memory", "open-5k", "earlier"],
    read: p99,
  },
  {
    title: "Trace headers on every call, Redis, 8 × 64",
    unit: "× CPU without them",
    isAtLeast: false,
    bound: 1.5,
    row: ["redis", "8x64-trace", "weir"],
    by: ["redis", "8x64", "weir"],
    read: cpu,
    isOfServerAlone: true,
  },
  against("TLS, Redis, 8 × 64", 8, ["tls", "8x64"]),
  {
    title: "Resident memory, Redis, 100,000 keys, 8 × 64",
    unit: "MB",
    isAtLeast: false,
    bound: RESIDENT_MAX_BYTES / 1e6,
    row: ["fresh", "8x64", "weir"],
    read: ({ residentBytes }) => residentBytes / 1e6,
    isOfServerAlone: true,
  },
  {
    ...FASTER,
    title: "2 workers, over the limit, TLS, 8 × 64",
    unit: "× decisions/s of one",
    bound: 1.5,
    row: ["workers-tls", "8x64", "weir, 2 workers"],
    by: ["workers-tls", "8x64", "weir"],
  },
  {
    title: "2 workers, Redis, 8 × 64",
    unit: "× CPU of one",
    isAtLeast: false,
    bound: 1.1,
    row: ["workers-redis", "8x64", "weir, 2 workers"],
    by: ["workers-redis", "8x64", "weir"],
    read: cpu,
    isOfServerAlone: true,
  },
  everythingOn("8 × 64", "8x64"),
  everythingOn("16 × 1", "16x1"),
];

/** Every bar in a run. */
export function judgeBars(results: BenchResults): readonly BarResult[] {
  return BARS.map((bar) => {
    const row = findRow(results, ...bar.row);
    const other = bar.by === undefined ? undefined : findRow(results, ...bar.by);
    const value = bar.by === undefined ? row && figureOf(row, bar.read) : ratioOf(row, other, bar.read);
    return { bar, value, verdict: verdictOf(results, bar, { row, other, value }) };
  });
}

function verdictOf(
  results: BenchResults,
  bar: Bar,
  {
    row,
    other,
    value,
  }: { readonly row: Row | undefined; readonly other: Row | undefined; readonly value: Spread | undefined },
): BarResult["verdict"] {
  if (value === undefined || row === undefined) return "not measured";
  const rows = other === undefined ? [row] : [row, other];
  if (bar.isOfServerAlone !== true && !rows.every((each) => isMeasurable(results, each))) return "not measurable here";
  const isReached = bar.isAtLeast ? value.median >= bar.bound : value.median <= bar.bound;
  return isReached ? "PASS" : "MISS";
}

function against(title: string, bound: number, [group, load]: readonly [string, string]): Bar {
  return { ...FASTER, title, unit: `× ${GO}`, bound, row: [group, load, "weir"], by: [group, load, GO] };
}

function againstEarlier(title: string, bound: number, load: string): Bar {
  return {
    ...FASTER,
    title,
    unit: "× the earlier commit",
    bound,
    row: ["memory", load, "weir"],
    by: ["memory", load, "earlier"],
  };
}

function everythingOn(title: string, load: string): Bar {
  return {
    title: `Everything on, Redis, ${title}`,
    unit: "× CPU of the earlier commit",
    isAtLeast: false,
    bound: 1.2,
    row: ["everything-on", load, "weir"],
    by: ["everything-on", load, "earlier"],
    read: cpu,
    isOfServerAlone: true,
  };
}
