// The decider over counters in memory against the slow reference model of a call, on random rules,
// settings and sequences of calls.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { CountBatch, Counter } from "../counters/counter.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { StoreError } from "../counters/store-error.ts";
import { configuration, descriptor, limit, unlimited } from "@weir/limits/rules/configuration.suite";
import { DeciderFixture, type WaitingCall } from "./decider.suite.ts";
import {
  type Failure,
  type ReferenceAnswer,
  type ReferenceDescriptor,
  type ReferenceRule,
  ReferenceService,
  type ReferenceSettings,
} from "./reference-model.suite.ts";

const RUNS = 250;
const CALLS_PER_RUN = 60;

/** Printed in the name of the test; any other number makes other calls. */
const SEED = 20_261_121;

const KEYS = ["k0", "k1", "k2", "k3", "k4", "k5"];
const VALUES = ["x", "x", "x", "y", ""];
const UNITS = ["second", "minute", "minute", "hour", "hour", "day"] as const;
const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400 };
const NAMES = ["", "", "n", "m"];

/** A generator of numbers in [0, 1) that repeats for its seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Draws of everything a run is made of. */
class Draws {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  settings(): ReferenceSettings {
    return {
      shadowMode: this.chance(0.1),
      quotaMode: this.chance(0.15),
      nearLimitRatio: this.pick([0.8, 0.8, 0.5, 0.7, 0, 1]),
      hasLocalCache: this.chance(0.5),
      stopsIncrements: this.chance(0.5),
      failureMode: this.pick(["error", "allow", "deny"] as const),
    };
  }

  rule(): ReferenceRule {
    const name = this.pick(NAMES);
    return {
      unit: this.pick(UNITS),
      requestsPerUnit: this.below(15),
      unlimited: this.chance(0.1),
      shadowMode: this.chance(0.2),
      quotaMode: this.chance(0.25),
      name,
      replaces: this.chance(0.2) ? ["n", "m"].filter((other) => other !== name && this.chance(0.5)) : [],
    };
  }

  /** One to four descriptors; some have no rule, some stand twice. */
  descriptors(): readonly ReferenceDescriptor[] {
    const drawn = Array.from({ length: 1 + this.below(3) }, () => ({
      key: this.pick([...KEYS, "unknown"]),
      value: this.pick(VALUES),
      hits: this.chance(0.7) ? undefined : this.pick([0, 0, 1, 2, 5, 20]),
    }));
    return this.chance(0.15) ? [...drawn, drawn[0] as ReferenceDescriptor] : drawn;
  }

  /** Seconds to the next call: most come within a window. */
  pause(): number {
    return this.chance(0.7) ? 0 : this.pick([1, 1, 2, 20, 61, 1000, 4000]);
  }

  failure(): Failure {
    return this.chance(0.1) ? this.pick(["reading", "counting"] as const) : undefined;
  }
}

/** Counters that fail at a chosen step. */
class FailingCounter implements Counter {
  readonly name = "failing counters";
  readonly errorType = "memory_error";
  readonly #inner = new MemoryCounter({ maxKeys: 100_000 });
  failure: Failure;

  count(batch: CountBatch): void {
    if (this.failure === "counting") batch.failed(new StoreError("STORE_UNAVAILABLE", "chosen to fail"));
    else this.#inner.count(batch);
  }

  read(batch: CountBatch): void {
    if (this.failure === "reading") batch.failed(new StoreError("STORE_UNAVAILABLE", "chosen to fail"));
    else this.#inner.read(batch);
  }

  /** The count of a key as it is stored. */
  stored(key: string, windowStartSeconds: number, windowSeconds: number): number {
    const check = { key, windowStartSeconds, windowSeconds, addend: 0, after: Number.NaN };
    this.#inner.read({
      checks: [check],
      deadlineMs: undefined,
      pending: 0,
      counted: () => undefined,
      failed: () => undefined,
    });
    return check.after;
  }
}

function openFixture(
  rules: ReadonlyMap<string, ReferenceRule>,
  settings: ReferenceSettings,
  counter: Counter,
): DeciderFixture {
  const descriptors = Array.from(rules, ([key, rule]) => {
    const fields = { name: rule.name, replaces: rule.replaces.map((name) => ({ name })) };
    const rateLimit = rule.unlimited ? unlimited(fields) : limit(rule.requestsPerUnit, rule.unit, fields);
    return descriptor({ key, rateLimit, shadowMode: rule.shadowMode, quotaMode: rule.quotaMode });
  });
  return new DeciderFixture({
    configs: [configuration("domain", descriptors)],
    counter,
    localCacheBytes: settings.hasLocalCache ? 10_000_000 : 0,
    options: {
      shadowMode: settings.shadowMode,
      quotaMode: settings.quotaMode,
      nearLimitRatio: settings.nearLimitRatio,
      stopIncrementsWhenOver: settings.stopsIncrements,
      failureMode: settings.failureMode,
      ruleHeader: "rule",
    },
  });
}

/** Returns the answer of the decider, in the words of the model. */
function answerOf(call: WaitingCall): ReferenceAnswer | undefined {
  if (!call.hasDecision) return undefined;
  const { overallCode, statuses, headers } = call.decision;
  return {
    overall: overallCode === 1 ? "OK" : "OVER_LIMIT",
    statuses: statuses.map(({ code, currentLimit, limitRemaining, durationUntilResetSeconds }) => ({
      code: code === 1 ? "OK" : "OVER_LIMIT",
      limit: currentLimit?.requestsPerUnit,
      remaining: limitRemaining,
      reset: durationUntilResetSeconds,
    })),
    rejectingRule: headers?.find(({ key }) => key === "rule")?.value,
  };
}

/** Every key that counts at the moment, by the text of its rule and value. */
function countsNow(
  rules: ReadonlyMap<string, ReferenceRule>,
  now: number,
  counts: { stored(key: string, start: number, seconds: number): number },
): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [key, { unit }] of rules) {
    for (const value of new Set(VALUES)) {
      const start = now - (now % SECONDS[unit]);
      const text = `domain_${key}_${value}_${start}`;
      found[text] = counts.stored(text, start, SECONDS[unit]);
    }
  }
  return found;
}

/** Counts the cases that the runs have come upon: a generator that never got there would prove nothing. */
const seen = { calls: 0, rejected: 0, failed: 0, localHits: 0, withheld: 0, shadowed: 0, near: 0 };

function run(draws: Draws): void {
  const settings = draws.settings();
  const rules = new Map(KEYS.map((key) => [key, draws.rule()]));
  const counter = new FailingCounter();
  const fixture = openFixture(rules, settings, counter);
  const model = new ReferenceService("domain", rules, settings);
  let now = 1_000_000 + draws.below(100_000);
  for (let index = 0; index < CALLS_PER_RUN; index++) {
    now += draws.pause();
    const descriptors = draws.descriptors();
    const requestHits = draws.pick([0, 0, 1, 3, 7]);
    counter.failure = draws.failure();
    fixture.nowMs = now * 1000 + draws.below(1000);
    const call = fixture.decide({
      descriptors: descriptors.map(({ key, value, hits }) => ({
        entries: [{ key, value }],
        ...(hits === undefined ? {} : { hitsAddend: BigInt(hits) }),
      })),
      hitsAddend: requestHits,
    });
    const expected = model.decide(now, descriptors, requestHits, counter.failure);
    const context = {
      settings,
      rules: Object.fromEntries(rules),
      now,
      descriptors,
      requestHits,
      failure: counter.failure,
    };
    const actual = { answer: answerOf(call), statistics: fixture.counted(), stored: countsNow(rules, now, counter) };
    const wanted = {
      answer: expected,
      statistics: Object.fromEntries(model.statistics),
      stored: countsNow(rules, now, model),
    };
    // Many times faster than `expect`, which says what differs.
    if (!isDeepStrictEqual(actual, wanted)) expect({ ...context, ...actual }).toEqual({ ...context, ...wanted });
    seen.calls += 1;
    if (expected === undefined) seen.failed += 1;
    if (expected?.overall === "OVER_LIMIT") seen.rejected += 1;
  }
  seen.withheld += model.withheld;
  for (const [name, value] of model.statistics) {
    if (name.endsWith("over_limit_with_local_cache")) seen.localHits += value;
    if (name.endsWith(".shadow_mode")) seen.shadowed += value;
    if (name.endsWith(".near_limit")) seen.near += value;
  }
}

describe("decide()", () => {
  it(`decide() agrees with the reference model on ${RUNS * CALLS_PER_RUN} random calls (seed ${SEED})`, () => {
    const draws = new Draws(createRandom(SEED));
    for (let index = 0; index < RUNS; index++) run(draws);
    expect(seen.calls).toBe(RUNS * CALLS_PER_RUN);
    for (const [what, times] of Object.entries(seen))
      expect({ what, isOften: times > 200 }).toEqual({ what, isOften: true });
  }, 120_000);
});
