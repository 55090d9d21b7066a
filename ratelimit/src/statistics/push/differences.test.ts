// Tests the growth of counters between two flushes.
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics-store.ts";
import { Differences } from "./differences.ts";

function begin(differences: Differences): { reported: string[]; steps: Generator<undefined, void> } {
  const reported: string[] = [];
  const steps = differences.collect({
    counter: (name, difference) => reported.push(`${name} +${difference}`),
    gauge: (name, value) => reported.push(`${name} = ${value}`),
  });
  return { reported, steps };
}

function collect(differences: Differences): string[] {
  const { reported, steps } = begin(differences);
  while (steps.next().done !== true);
  return reported;
}

describe("Differences", () => {
  it("collect() reports the growth of counters, only when they grew, and gauges always", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    store.counter("c").add(2);
    store.gauge("g").set(5);
    store.rule("d.k").totalHits += 4;
    store.rule("d.k").shadowMode += 1;
    const first = [
      "c +2",
      "ratelimit.service.rate_limit.d.k.total_hits +4",
      "ratelimit.service.rate_limit.d.k.shadow_mode +1",
      "g = 5",
    ];
    expect(collect(differences)).toEqual(first);
    expect(collect(differences)).toEqual(["g = 5"]);
    store.counter("c").add(3);
    store.rule("d.k").totalHits += 1;
    store.gauge("g").set(0);
    expect(collect(differences)).toEqual(["c +3", "ratelimit.service.rate_limit.d.k.total_hits +1", "g = 0"]);
  });

  it("collect() reports the same to two readers of one store", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const [first, second] = [new Differences(store), new Differences(store)];
    store.counter("c").add(2);
    expect(collect(first)).toEqual(["c +2"]);
    store.counter("c").add(1);
    expect(collect(first)).toEqual(["c +1"]);
    expect(collect(second)).toEqual(["c +3"]);
  });

  it("collect() reports what a rule counted before and after it was replaced, until it counts no more", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    const rule = store.rule("d.k");
    rule.totalHits += 1;
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +1"]);
    rule.totalHits += 2;
    store.dropRule("d.k");
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +2"]);
    rule.totalHits += 1; // A call that began with the old rules.
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +1"]);
    expect(collect(differences)).toEqual([]);
  });

  it("collect() begins anew when a rule comes back under its old name", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    store.rule("d.k").totalHits += 7;
    collect(differences);
    store.dropRule("d.k");
    store.rule("d.k").totalHits += 2;
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +2"]);
  });

  it("collect() reports later what an abandoned collection had not reached", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    for (let index = 0; index < 250; index++) store.rule(`d.k${index}`).totalHits += 1;
    const { reported, steps } = begin(differences);
    steps.next();
    const first = reported.length;
    expect(first).toBeLessThan(250);
    expect(collect(differences)).toHaveLength(250 - first);
    expect(collect(differences)).toEqual([]);
  });
});
