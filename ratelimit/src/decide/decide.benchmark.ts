// Measures the decider over counters in memory, without transport: decisions per second, nanoseconds
// and allocated bytes per decision. Run it with `node --conditions=source
// ratelimit/src/decide/decide.benchmark.ts` (sources) or `node
// ratelimit/dist/decide/decide.benchmark.js` (build); `--quick` measures a tenth of it.
import { getHeapStatistics } from "node:v8";
import { silentLog } from "@weir/common/log/log";
import type { DescriptorModel } from "@weir/limits/model/model";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { compileCountedRules } from "../config/counted-rules.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import type { DecisionCall } from "./decider.ts";
import type { Decision } from "./decision.ts";
import { createLocalCache } from "./local-cache/local-cache.ts";
import type { RateLimitRequest } from "./request.ts";
import { RuleDecider } from "./rule-decider.ts";

/**
 * Decisions before the clock runs, so that the code is compiled; and in each of the measured
 * rounds, of which the median counts.
 */
const WARM_UP = 300_000;
const ROUND = process.argv.includes("--quick") ? 50_000 : 500_000;
const ROUNDS = 5;

/** Different values and rules of the larger cases. */
const VALUES = 100_000;
const RULES = 10_000;

/** What is measured: one request after the other, in a circle. */
interface Case {
  readonly name: string;
  /** Size of the local cache; 0, the default, is none. */
  readonly localCacheBytes?: number;
  readonly requests: readonly RateLimitRequest[];
}

/** A caller that only counts; one serves all decisions, for it is the transport's to allocate. */
class CountingCall implements DecisionCall {
  readonly deadlineMs = undefined;
  over = 0;

  decided(decision: Decision): void {
    if (decision.overallCode === 2) this.over += 1;
  }

  failed(error: Error): void {
    throw error;
  }
}

/** A rule with every flag off, and a limit per hour if it has one. */
function rule(key: string, requestsPerUnit?: number, fields: Partial<DescriptorModel> = {}): DescriptorModel {
  const limit = { unit: "hour", unlimited: false, name: "", replaces: [] };
  return {
    key,
    value: "",
    descriptors: [],
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
    ...(requestsPerUnit === undefined ? {} : { rateLimit: { ...limit, requestsPerUnit } }),
    ...fields,
  };
}

const LARGE = 4_000_000_000;

const DESCRIPTORS: readonly DescriptorModel[] = [
  rule("path", LARGE, { value: "/login" }),
  rule("user", LARGE),
  rule("tight", 10),
  rule("plan", undefined, { value: "gold", descriptors: [rule("user", LARGE)] }),
  rule("prefix", LARGE, { value: "/api/*" }),
  rule("detailed", LARGE, { detailedMetric: true }),
  ...Array.from({ length: RULES }, (_, index) => rule("route", LARGE, { value: `/v1/route-${index}` })),
];

function request(...descriptors: readonly (readonly (readonly [key: string, value: string])[])[]): RateLimitRequest {
  return {
    domain: "benchmark",
    descriptors: descriptors.map((pairs) => ({ entries: pairs.map(([key, value]) => ({ key, value })) })),
    hitsAddend: 0,
  };
}

function times(count: number, make: (index: number) => RateLimitRequest): readonly RateLimitRequest[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

const CASES: readonly Case[] = [
  { name: "no rule", requests: [request([["other", "x"]])] },
  { name: "exact value, one key", requests: [request([["path", "/login"]])] },
  { name: "over the limit, one key", requests: [request([["tight", "x"]])] },
  { name: "over the limit, local cache", localCacheBytes: 1_000_000, requests: [request([["tight", "x"]])] },
  {
    name: "key only, 100,000 values",
    requests: times(VALUES, (index) => request([["user", `user-${index}@example.com`]])),
  },
  { name: "one of 10,000 rules", requests: times(RULES, (index) => request([["route", `/v1/route-${index}`]])) },
  { name: "two levels, 100,000 values", requests: times(VALUES, (index) => request([["plan", "gold"], ["user", `user-${index}`]])) }, // prettier-ignore
  { name: "three descriptors", requests: times(1000, (index) => request([["path", "/login"]], [["user", `user-${index}`]], [["prefix", "/api/x"]])) }, // prettier-ignore
  { name: "wildcard, 1,000 values", requests: times(1000, (index) => request([["prefix", `/api/${index}`]])) },
  {
    name: "detailed metric, 1,000 values",
    requests: times(1000, (index) => request([["detailed", `value-${index}`]])),
  },
];

function openDecider(localCacheBytes: number): RuleDecider {
  const store = new StatisticsStore({ maxDynamicKeys: VALUES });
  const rules = compileCountedRules([{ name: "benchmark", domain: "benchmark", descriptors: DESCRIPTORS }], store);
  const log = silentLog();
  return new RuleDecider(
    {
      rules: () => rules,
      counter: new MemoryCounter({ maxKeys: 1_000_000 }),
      statistics: new ServiceStatistics(store),
      localCache: createLocalCache({ statistics: store, clock: Date.now, log }, { sizeBytes: localCacheBytes }),
      clock: Date.now,
      log,
    },
    {
      shadowMode: false,
      quotaMode: false,
      nearLimitRatio: 0.8,
      responseHeaders: undefined,
      ruleHeader: undefined,
      dynamicMetadata: false,
      keyPrefix: "",
      maxDescriptors: 1000,
      maxEntries: 100,
      stopIncrementsWhenOver: false,
      failureMode: "error",
    },
  );
}

if (import.meta.main) {
  print(`${"case".padEnd(32)} ${"decisions/s".padStart(12)} ${"ns".padStart(8)} ${"bytes".padStart(8)}`);
  const plain = openDecider(0);
  for (const { name, requests, localCacheBytes } of CASES) {
    const decider = localCacheBytes === undefined ? plain : openDecider(localCacheBytes);
    run(decider, requests, WARM_UP);
    const rounds = Array.from({ length: ROUNDS }, () => measure(decider, requests)).sort((a, b) => a.ns - b.ns);
    const { ns, bytes } = rounds[Math.floor(ROUNDS / 2)] ?? { ns: 0, bytes: 0 };
    const perSecond = Math.round(1e9 / ns).toLocaleString("en");
    print(`${name.padEnd(32)} ${perSecond.padStart(12)} ${ns.toFixed(0).padStart(8)} ${bytes.toFixed(0).padStart(8)}`);
  }
}

/** One round: nanoseconds of wall clock and bytes allocated on the heap, per decision. */
function measure(decider: RuleDecider, requests: readonly RateLimitRequest[]): { ns: number; bytes: number } {
  const bytesBefore = getHeapStatistics().total_allocated_bytes;
  const began = process.hrtime.bigint();
  run(decider, requests, ROUND);
  const ns = Number(process.hrtime.bigint() - began) / ROUND;
  return { ns, bytes: (getHeapStatistics().total_allocated_bytes - bytesBefore) / ROUND };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function run(decider: RuleDecider, requests: readonly RateLimitRequest[], decisions: number): void {
  const call = new CountingCall();
  const { length } = requests;
  for (let index = 0; index < decisions; index++) {
    const each = requests[index % length];
    if (each !== undefined) decider.decide(each, call);
  }
}
