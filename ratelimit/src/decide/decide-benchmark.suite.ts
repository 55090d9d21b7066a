// Measures the decider over counters in memory, without transport: decisions per second, nanoseconds
// and allocated bytes per decision. `--quick` measures a tenth.
import { getHeapStatistics } from "node:v8";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { DeciderFixture } from "./decider.suite.ts";
import type { RateLimitRequest } from "./request.ts";

/**
 * Decisions before the clock runs, so that the code is compiled; and in each of the measured
 * rounds, of which the median counts.
 */
const WARM_UP = 300_000;
const ROUND = process.argv.includes("--quick") ? 50_000 : 500_000;
const ROUNDS = 5;

/** Decisions in one turn of the event loop, in which the service reads the clock once. */
const TURN = 64;

/** Different values and rules of the larger cases. */
const VALUES = 100_000;
const RULES = 10_000;

const RULE_FILE = `domain: benchmark
descriptors:
  - { key: path, value: /login, rate_limit: &large { unit: hour, requests_per_unit: 4000000000 } }
  - { key: user, rate_limit: *large }
  - { key: tight, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: plan, value: gold, descriptors: [{ key: user, rate_limit: *large }] }
  - { key: prefix, value: "/api/*", rate_limit: *large }
  - { key: detailed, detailed_metric: true, rate_limit: *large }
${times(RULES, (index) => `  - { key: route, value: /v1/route-${index}, rate_limit: *large }`).join("\n")}
`;

/** A measurement: one request after the other, in a circle. */
interface Case {
  readonly name: string;
  /** Size of the local cache; 0, the default, is none. */
  readonly localCacheBytes?: number;
  readonly requests: readonly RateLimitRequest[];
}

const CASES: readonly Case[] = [
  { name: "no rule", requests: [request("other=x")] },
  { name: "exact value, one key", requests: [request("path=/login")] },
  { name: "over the limit, one key", requests: [request("tight=x")] },
  { name: "over the limit, local cache", localCacheBytes: 1_000_000, requests: [request("tight=x")] },
  { name: "key only, 100,000 values", requests: times(VALUES, (index) => request(`user=user-${index}@example.com`)) },
  { name: "one of 10,000 rules", requests: times(RULES, (index) => request(`route=/v1/route-${index}`)) },
  { name: "two levels, 100,000 values", requests: times(VALUES, (index) => request(`plan=gold user=user-${index}`)) },
  {
    name: "three descriptors",
    requests: times(1000, (index) => request("path=/login", `user=user-${index}`, "prefix=/api/x")),
  },
  { name: "wildcard, 1,000 values", requests: times(1000, (index) => request(`prefix=/api/${index}`)) },
  { name: "detailed metric, 1,000 values", requests: times(1000, (index) => request(`detailed=value-${index}`)) },
];

/** A request with these descriptors, each written as `key=value key=value`. */
function request(...descriptors: readonly string[]): RateLimitRequest {
  const entry = (pair: string): { key: string; value: string } => {
    // In one piece each, as strings from the wire.
    const [key = "", value = ""] = pair.split("=").map((text) => Buffer.from(text).toString());
    return { key, value };
  };
  return {
    domain: "benchmark",
    descriptors: descriptors.map((pairs) => ({ entries: pairs.split(" ").map(entry) })),
    hitsAddend: 0,
  };
}

function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function openDecider(localCacheBytes = 0): DeciderFixture {
  const file = parseRuleFile("benchmark", RULE_FILE);
  if (!file.ok) throw new Error(file.message);
  const counter = new MemoryCounter({ maxKeys: 1_000_000 });
  return new DeciderFixture({ configs: [file.model], counter, maxDynamicKeys: VALUES, localCacheBytes });
}

/** One caller serves all decisions, because its object is the transport's to allocate. */
const CALL = {
  deadlineMs: undefined,
  decided: (): void => undefined,
  failed(error: Error): never {
    throw error;
  },
};

function run(fixture: DeciderFixture, requests: readonly RateLimitRequest[], decisions: number): void {
  const { decider } = fixture;
  for (let index = 0; index < decisions; index++) {
    if (index % TURN === 0) fixture.nowMs = Date.now();
    const each = requests[index % requests.length];
    if (each !== undefined) decider.decide(each, CALL);
  }
}

/** One round: nanoseconds of wall clock and bytes allocated on the heap, per decision. */
function measure(fixture: DeciderFixture, requests: readonly RateLimitRequest[]): { ns: number; bytes: number } {
  const bytesBefore = getHeapStatistics().total_allocated_bytes;
  const began = process.hrtime.bigint();
  run(fixture, requests, ROUND);
  const ns = Number(process.hrtime.bigint() - began) / ROUND;
  return { ns, bytes: (getHeapStatistics().total_allocated_bytes - bytesBefore) / ROUND };
}

function print(name: string, ...cells: readonly string[]): void {
  process.stdout.write(`${name.padEnd(32)} ${cells.map((cell) => cell.padStart(12)).join(" ")}\n`);
}

if (import.meta.main) {
  print("case", "decisions/s", "ns", "bytes");
  const plain = openDecider();
  for (const { name, requests, localCacheBytes } of CASES) {
    const fixture = localCacheBytes === undefined ? plain : openDecider(localCacheBytes);
    run(fixture, requests, WARM_UP);
    const rounds = times(ROUNDS, () => measure(fixture, requests)).toSorted((a, b) => a.ns - b.ns);
    const { ns, bytes } = rounds[Math.floor(ROUNDS / 2)] ?? { ns: 0, bytes: 0 };
    print(name, Math.round(1e9 / ns).toLocaleString("en"), ns.toFixed(0), bytes.toFixed(0));
  }
}
