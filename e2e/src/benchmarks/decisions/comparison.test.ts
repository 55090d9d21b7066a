import { describe, expect, it } from "vitest";
import type { Comparison } from "./comparison.ts";
import { formatComparisons, measureComparisons } from "./comparison.ts";
import type { MeasuredServer } from "./measured-server.ts";
import type { Sample } from "./measurement.ts";
import { ONE_OF_MANY, PIPELINED } from "./workload.ts";

const server = (name: string): MeasuredServer => ({
  name,
  grpcPort: 1,
  pid: 1,
  groups: [],
  stop: () => Promise.resolve(),
});

const comparison: Comparison = {
  name: "one descriptor",
  scenario: { load: PIPELINED, question: ONE_OF_MANY },
  now: server("now"),
  before: server("before"),
  bar: 1.2,
};

const sample = (cpuMicrosPerDecision: number): Sample => ({
  report: {
    answers: 1,
    overLimit: 0,
    seconds: 1,
    p50Ms: 1,
    p99Ms: 1,
    maxMs: 1,
    generatorLoad: 0,
    beganMs: 0,
    endedMs: 1,
  },
  cpuMicrosPerDecision,
  waitedShare: 0,
  residentMebibytes: 100,
});

describe("measureComparisons()", () => {
  it("takes the ratio within each round, and turns the order round by round, when the machine slows down", async () => {
    const micros: Readonly<Record<string, readonly number[]>> = { before: [100, 200, 400], now: [110, 210, 480] };
    const order: string[] = [];
    const [result] = await measureComparisons([comparison], 3, ({ name }, _, round) => {
      order.push(name);
      return Promise.resolve(sample(micros[name]![round - 1]!));
    });
    expect(order).toEqual(["before", "now", "now", "before", "before", "now"]);
    expect(result?.ratio).toEqual({ median: 1.1, min: 1.05, max: 1.2 });
    expect(formatComparisons(result === undefined ? [] : [result])).toBe(
      [
        "| Asked of Redis | Load               | CPU µs before       | CPU µs now          | Ratio            | Bar   |      |",
        "|----------------|--------------------|---------------------|---------------------|------------------|-------|------|",
        "| one descriptor | 8 connections × 64 | 200.0 (100.0–400.0) | 210.0 (110.0–480.0) | 1.10 (1.05–1.20) | ≤ 1.2 | PASS |",
      ].join("\n"),
    );
  });
});
