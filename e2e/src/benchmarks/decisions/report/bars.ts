// The bars of the benchmark: what Weir must reach, and whether it did in a run.
import type { Spread } from "../../summary.ts";
import type { Contender, LimitRule } from "../loads.ts";
import { type BenchResults, figureOf, findRow, isMeasurable, ratioOf, type Row, type Sample } from "./results.ts";

/** Most resident memory under load. */
const RESIDENT_MAX_MB = 120;

/** Most processor time of a turn of the event loop, a quarter of Envoy's default time-out. */
const TURN_MAX_MS = 5;

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

const GO = "envoyproxy/ratelimit";
const REDIS_OPEN: readonly [string, string] = ["redis", "open-5k"];
const MEMORY_OPEN: readonly [string, string] = ["memory", "open-5k"];

const perSecond = ({ perSecond: value }: Sample): number => value;
const p99 = ({ p99Micros }: Sample): number => p99Micros;
const cpu = ({ cpuMicrosPerDecision = NaN }: Sample): number => cpuMicrosPerDecision;
const cpuWithStore = (sample: Sample): number => cpu(sample) + (sample.storeCpuMicrosPerDecision ?? NaN);
const commands = ({ commandsPerDecision = NaN }: Sample): number => commandsPerDecision;
const turn = ({ turnCpuMicros = NaN }: Sample): number => turnCpuMicros / 1000;
const megabytes = ({ residentBytes }: Sample): number => residentBytes / 1e6;

const MOST = { isAtLeast: false } as const;
const MOST_ALONE = { isAtLeast: false, isOfServerAlone: true } as const;

const BARS: readonly Bar[] = [
  faster("Redis, 100,000 keys, 8 × 64", 15, ["redis", "8x64"]),
  faster("Redis, hot key, 8 × 64", 20, ["redis", "8x64-hot"]),
  {
    ...{ title: "Redis, hot key, 8 × 64", unit: "Redis commands per decision", ...MOST_ALONE, bound: 0.2 },
    ...{ row: ["redis", "8x64-hot", "weir"], read: commands },
  },
  faster("Redis, 16 × 1", 4, ["redis", "16x1"]),
  faster("Redis, 256 × 1", 5, ["redis", "256x1"]),
  {
    ...{ title: "Redis, open loop 5,000/s", unit: "× p99", ...MOST, bound: 0.5 },
    ...{ row: [...REDIS_OPEN, "weir"], by: [...REDIS_OPEN, GO], read: p99 },
  },
  faster("Over the limit, local cache, 8 × 64", 15, ["over-limit", "8x64"]),
  faster("Memory, 8 × 64", 20, ["memory", "8x64"], "earlier"),
  faster("Memory, 16 × 1", 10, ["memory", "16x1"], "earlier"),
  {
    ...{ title: "Memory, open loop 5,000/s", unit: "× p99 of the earlier commit", ...MOST, bound: 1 / 20 },
    ...{ row: [...MEMORY_OPEN, "weir"], by: [...MEMORY_OPEN, "earlier"], read: p99 },
  },
  {
    ...{ title: "Trace headers on every call, Redis, 8 × 64", unit: "× CPU without them", ...MOST_ALONE, bound: 1.5 },
    ...{ row: ["redis", "8x64-trace", "weir"], by: ["redis", "8x64", "weir"], read: cpu },
  },
  faster("TLS, Redis, 8 × 64", 8, ["tls", "8x64"]),
  {
    ...{ title: "Resident memory, Redis, 100,000 keys, 8 × 64", unit: "MB", ...MOST_ALONE, bound: RESIDENT_MAX_MB },
    ...{ row: ["fresh", "8x64", "weir"], read: megabytes },
  },
  {
    ...{ title: "2 workers, over the limit, TLS, 8 × 64", unit: "× decisions/s of one", isAtLeast: true, bound: 1.5 },
    ...{ row: ["workers-tls", "8x64", "weir, 2 workers"], by: ["workers-tls", "8x64", "weir"], read: perSecond },
  },
  {
    ...{ title: "2 workers, Redis, 8 × 64", unit: "× CPU of one", ...MOST_ALONE, bound: 1.1 },
    ...{ row: ["workers-redis", "8x64", "weir, 2 workers"], by: ["workers-redis", "8x64", "weir"], read: cpu },
  },
  ...(["sliding", "bucket"] as const).flatMap((rule) => [
    withStore(`Redis, 8 × 64: ${rule}`, 2.2, ["8x64", rule, "fixed"]),
    withStore(`Redis, 16 × 1: ${rule}`, 1.8, ["16x1", rule, "fixed"]),
  ]),
  withStore("Redis, 8 × 64: three limits of a rule", 2.2, ["8x64", "list", "three"]),
  withStore("Redis, 16 × 1: three limits of a rule", 2.2, ["16x1", "list", "three"]),
  {
    ...{ title: "Redis, hot key, 8 × 64: bucket", unit: "Redis commands per decision", ...MOST_ALONE, bound: 0.2 },
    ...{ row: ["limits", "8x64-hot-bucket", "weir"], read: commands },
  },
  {
    ...{ title: "100,000 rules in memory, an edit a second", unit: "× p99 without edits", ...MOST, bound: 1.3 },
    ...{ row: ["rules", "open-2k-edits", "weir"], by: ["rules", "open-2k", "weir"], read: p99 },
  },
  {
    ...{ title: "the same, longest turn of the event loop", unit: "ms of CPU", ...MOST_ALONE, bound: TURN_MAX_MS },
    ...{ row: ["rules", "open-2k-edits", "weir"], read: turn },
  },
  everythingOn("8 × 64", "8x64"),
  everythingOn("16 × 1", "16x1"),
];

/** Every bar in a run. */
export function judgeBars(results: BenchResults): readonly BarResult[] {
  return BARS.map((bar) => {
    const rows = [bar.row, bar.by ?? bar.row].map((name) => findRow(results, ...name));
    const value = bar.by === undefined ? rows[0] && figureOf(rows[0], bar.read) : ratioOf(rows[0], rows[1], bar.read);
    return { bar, value, verdict: verdictOf(results, bar, rows, value) };
  });
}

function verdictOf(
  results: BenchResults,
  { isOfServerAlone = false, isAtLeast, bound }: Bar,
  rows: readonly (Row | undefined)[],
  value: Spread | undefined,
): BarResult["verdict"] {
  if (value === undefined) return "not measured";
  if (!isOfServerAlone && !rows.every((row) => row && isMeasurable(results, row))) return "not measurable here";
  return (isAtLeast ? value.median >= bound : value.median <= bound) ? "PASS" : "MISS";
}

function faster(
  title: string,
  bound: number,
  load: readonly [group: string, load: string],
  than: "earlier" | typeof GO = GO,
): Bar {
  const unit = `× ${than === GO ? GO : "the earlier commit"}`;
  return { title, unit, isAtLeast: true, bound, row: [...load, "weir"], by: [...load, than], read: perSecond };
}

/** A way to count by another one. */
function withStore(title: string, bound: number, [load, rule, by]: readonly [string, LimitRule, LimitRule]): Bar {
  const other = by === "three" ? "three descriptors" : "a fixed window";
  return {
    ...{ title, unit: `× CPU of ${other}, with Redis`, ...MOST_ALONE, bound },
    ...{ row: ["limits", `${load}-${rule}`, "weir"], by: ["limits", `${load}-${by}`, "weir"], read: cpuWithStore },
  };
}

function everythingOn(title: string, load: string): Bar {
  return {
    ...{ title: `Everything on, Redis, ${title}`, unit: "× CPU of the earlier commit", ...MOST_ALONE, bound: 1.2 },
    ...{ row: ["everything-on", load, "weir"], by: ["everything-on", load, "earlier"], read: cpu },
  };
}
