import { describe, expect, it } from "vitest";
import { judgeBars } from "./bars.ts";
import { results, row } from "./results.suite.ts";

const GO = "envoyproxy/ratelimit";
const CEILING = row("redis/8x64", "nothing", { perSecond: 1_000_000 });
const THEIRS = row("redis/8x64", GO, { perSecond: 10_000 });

function verdicts(run: ReturnType<typeof results>) {
  const measured = judgeBars(run).filter(({ verdict }) => verdict !== "not measured");
  return measured.map(({ bar, value, verdict }) => [bar.unit, value?.median, verdict]);
}

describe("judgeBars()", () => {
  it.each([
    { perSecond: 150_000, verdict: "PASS" },
    { perSecond: 149_999, verdict: "MISS" },
    { perSecond: 900_000, verdict: "not measurable here" },
  ])("is $verdict when Weir makes $perSecond a second and envoyproxy/ratelimit 10,000", ({ perSecond, verdict }) => {
    const run = results(row("redis/8x64", "weir", { perSecond }), THEIRS, CEILING);
    expect(verdicts(run)).toEqual([[`× ${GO}`, perSecond / 10_000, verdict]]);
  });

  it("has bars of what must be at most", () => {
    const run = results(
      row("redis/8x64-hot", "weir", { commandsPerDecision: 0.21 }),
      row("fresh/8x64", "weir", { residentBytes: 120e6 }),
      row("redis/open-5k", "weir", { p99Micros: 400 }),
      row("redis/open-5k", GO, { p99Micros: 1000 }),
      row("redis/open-5k", "nothing", { p99Micros: 50 }),
    );
    expect(verdicts(run)).toEqual([
      ["Redis commands per decision", 0.21, "MISS"],
      ["× p99", 0.4, "PASS"],
      ["MB", 120, "PASS"],
    ]);
  });

  it("compares a load with edits with the same without them", () => {
    const run = results(
      ...["open-2k", "open-2k-edits"].flatMap((load, index) => [
        row(`rules/${load}`, "weir", { p99Micros: 1000 + 500 * index, turnCpuMicros: 4000 + 1000 * index }),
        row(`rules/${load}`, "nothing", { p99Micros: 50 }),
      ]),
    );
    expect(verdicts(run)).toEqual([
      ["× p99 without edits", 1.5, "MISS"],
      ["ms of CPU", 5, "PASS"],
    ]);
  });

  it("says nothing about what was not measured", () => {
    expect(verdicts(results())).toEqual([]);
  });
});
