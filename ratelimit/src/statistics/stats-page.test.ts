// /stats with many statistics: complete, sorted, and in steps of bounded work.
import { describe, expect, it } from "vitest";

import { writeStatisticsJson, writeStatisticsText } from "./stats-page.ts";
import { StatisticsStore, WALK_STEP } from "./statistics-store.ts";

/** A store with this many rules. */
function storeOf(rules: number): StatisticsStore {
  const store = new StatisticsStore({ maxDynamicKeys: rules });
  for (let index = 0; index < rules; index++) {
    const counters = store.dynamicRule(`domain.key_${index}`);
    if (counters !== undefined) counters.totalHits = index;
  }
  return store;
}

describe("writeStatisticsText()", () => {
  it("writeStatisticsText() prints ten thousand dynamic keys sorted, in pieces of at most 500 lines", () => {
    const pieces = [...writeStatisticsText(storeOf(10_000), new Map([["team", "x"]]))];
    const lines = pieces.join("").split("\n").slice(0, -1);
    const names = lines.map((line) => line.slice(0, line.indexOf(": ")));
    expect(lines).toHaveLength(70_001);
    expect(lines).toContain("ratelimit.service.rate_limit.domain.key_9999.total_hits.__team=x: 9999");
    expect(names.every((name, index) => index === 0 || (names[index - 1] ?? "") < name)).toBe(true);
    expect(Math.max(...pieces.map((piece) => piece.split("\n").length - 1))).toBe(500);
    // A hundred to read a hundred rules each, 118 to sort, 824 in seven rounds to merge, 121 to
    // print.
    expect(pieces.length).toBeGreaterThan(1000);
  });

  it("walk() reads at most WALK_STEP statistics in a step", () => {
    let reported = 0;
    let largest = 0;
    const count = (): void => void (reported += 1);
    const walk = storeOf(1000).walk({ counter: count, rule: count, gauge: count, timer: count });
    while (walk.next().done !== true) {
      largest = Math.max(largest, reported);
      reported = 0;
    }
    expect(largest).toBe(WALK_STEP);
  });

  it("writeStatisticsText() prints a name once when tags make two names equal", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 0 });
    store.counter("a").add(1);
    store.counter("a.__t=x").add(2);
    expect([...writeStatisticsText(store, new Map([["t", "x"]]))].join("")).toBe(
      "a.__t=x: 2\nratelimit.service.stats_keys_dropped.__t=x: 0\n",
    );
  });
});

describe("writeStatisticsJson()", () => {
  it("writeStatisticsJson() writes one object, whatever names contain", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    store.rule('d.quote"\\').overLimit = 3;
    store.timer("t").record(1.5);
    expect(JSON.parse([...writeStatisticsJson(store, new Map())].join(""))).toMatchObject({
      'ratelimit.service.rate_limit.d.quote"\\.over_limit': 3,
      t: { count: 1, sumMs: 1.5, maxMs: 1.5 },
    });
  });
});
