// A program for the test of what observation takes: fills the tables of 500 rules with keys of 64 bytes, in both panes and
// by both orders, and their series, as decisions do; prints the growth of the resident memory.
import { setImmediate } from "node:timers/promises";
import { LimitedCheck } from "@weir/limits/classify/check";
import { compileCountedRules, type CountedRules } from "../config/counted-rules.ts";
import { configuration, descriptor, limit } from "@weir/limits/rules/configuration.suite";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ObservedRules } from "./observed-rules.ts";
import { STEPS } from "./series.ts";
import { TopKeys } from "./top-keys.ts";

/** The report that the program prints, as JSON. */
export interface FullReport {
  readonly rssBytes: number;
  /** Keys that all tables have, by both orders. */
  readonly keys: number;
  /** Rules with series. */
  readonly series: number;
}

const RULES = 500;
const CAPACITY = 32;
const PANES = 2;

/** Keys that come: each table has replaced all of its keys several times. */
const KEYS_PER_PANE = 5 * CAPACITY;

function addKeys(topKeys: TopKeys, rules: CountedRules, nowSeconds: number): void {
  for (let rule = 0; rule < RULES; rule++) {
    for (let key = 0; key < KEYS_PER_PANE; key++) {
      const value = `user-${nowSeconds}-${rule}-${key}@example.com`.padEnd(64, "-").normalize();
      const entries = [{ key: `k${rule}`, value }];
      const match = rules.domain("shop")?.match(entries);
      if (match === undefined) throw new Error("The rule does not match");
      const check = new LimitedCheck(match, "", 0, 1);
      check.after = 2;
      const request = { domain: "shop", descriptors: [{ entries }], hitsAddend: 1 };
      topKeys.over(check, [check], request, nowSeconds);
      topKeys.sample([check], request, nowSeconds);
    }
  }
}

/** Resident memory without garbage. */
async function settledRss(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await setImmediate();
  }
  return process.memoryUsage.rss();
}

if (import.meta.main) {
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const descriptors = Array.from({ length: RULES }, (_, rule) =>
    descriptor({ key: `k${rule}`, rateLimit: limit(1, "hour") }),
  );
  const rules = compileCountedRules([configuration("shop", descriptors)], store);
  const create = (capacity: number): TopKeys => new TopKeys({ capacity, rules: () => rules, random: () => 0 });
  // The code is compiled, and the heap has the space for short-lived objects that every busy pod has.
  for (let round = 1; round <= PANES; round++) addKeys(create(1), rules, 300);
  const before = await settledRss();
  const topKeys = create(CAPACITY);
  for (let pane = 1; pane <= PANES; pane++) addKeys(topKeys, rules, 300 * pane);
  const observed = new ObservedRules(() => rules);
  for (let step = 1; step <= STEPS; step++) {
    observed.begin(step);
    for (let rule = 0; rule < RULES; rule++) {
      const counters = store.rule(`shop.k${rule}`);
      counters.totalHits += 7;
      counters.overLimit += 3;
      observed.visit(counters);
    }
  }
  const rssBytes = (await settledRss()) - before;
  const names = descriptors.map(({ key }) => ({ domain: "shop", path: `shop.${key}` }));
  const keys = topKeys
    .read(names, 300 * PANES)
    .reduce((sum, { overLimit, hits }) => sum + overLimit.keys.length + hits.keys.length, 0);
  const series = observed.history(STEPS).length;
  process.stdout.write(JSON.stringify({ rssBytes, keys, series } satisfies FullReport));
}
