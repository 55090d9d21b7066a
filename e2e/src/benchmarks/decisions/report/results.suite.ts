// Results of a run that did not happen, for tests of what is made of them.
import type { Contender } from "../loads.ts";
import type { BenchResults, Row, Sample } from "./results.ts";

/** A measurement with these figures. */
function sample(figures: Partial<Sample>): Sample {
  return {
    perSecond: 1000,
    cpuMicrosPerDecision: 10,
    p50Micros: 100,
    p99Micros: 1000,
    p999Micros: 2000,
    residentBytes: 100e6,
    generatorShare: 0.5,
    ...figures,
  };
}

/** A row named like `redis/8x64` with a round for each of `samples`. */
export function row(name: string, contender: Contender, ...samples: readonly Partial<Sample>[]): Row {
  const [group = "", load = ""] = name.split("/");
  const isOpenLoop = load.startsWith("open");
  const titles = { groupTitle: `group ${group}`, loadTitle: `load ${load}` };
  return { group, load, ...titles, isOpenLoop, contender, samples: samples.map(sample) };
}

/** A run with these rows. */
export function results(...rows: readonly Row[]): BenchResults {
  return {
    date: "2026-11-22",
    commit: "abc1234",
    machine: ["2 × CPU", "Node 26"],
    method: "3 rounds",
    against: null,
    settings: { "redis, weir": "BACKEND_TYPE=redis" },
    rows,
  };
}
