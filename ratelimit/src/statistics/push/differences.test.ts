// What grew between two flushes.
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics-store.ts";
import { Differences } from "./differences.ts";

function begin(differences: Differences): { told: string[]; steps: Generator<undefined, void> } {
  const told: string[] = [];
  const steps = differences.collect({
    counter: (name, difference) => told.push(`${name} +${difference}`),
    gauge: (name, value) => told.push(`${name} = ${value}`),
  });
  return { told, steps };
}

function collect(differences: Differences): string[] {
  const { told, steps } = begin(differences);
  while (steps.next().done !== true);
  return told;
}

describe("Differences", () => {
  it("collect() tells counters by what they grew, only when they did, and gauges always", () => {
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

  it("collect() tells two readers of one store the same", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const [first, second] = [new Differences(store), new Differences(store)];
    store.counter("c").add(2);
    expect(collect(first)).toEqual(["c +2"]);
    store.counter("c").add(1);
    expect(collect(first)).toEqual(["c +1"]);
    expect(collect(second)).toEqual(["c +3"]);
  });

  it("collect() tells what a rule counted before and after it was replaced, until it counts no more", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    const rule = store.rule("d.k");
    rule.totalHits += 1;
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +1"]);
    rule.totalHits += 2;
    store.replaceRules([]);
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
    store.replaceRules([]);
    store.rule("d.k").totalHits += 2;
    expect(collect(differences)).toEqual(["ratelimit.service.rate_limit.d.k.total_hits +2"]);
  });

  it("collect() tells later what a collection that was given up had not come to", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const differences = new Differences(store);
    for (let index = 0; index < 250; index++) store.rule(`d.k${index}`).totalHits += 1;
    const { told, steps } = begin(differences);
    steps.next();
    const first = told.length;
    expect(first).toBeLessThan(250);
    expect(collect(differences)).toHaveLength(250 - first);
    expect(collect(differences)).toEqual([]);
  });
});
