// The compiled tables against a slow, obvious matcher written from the specification's words, on random rule trees and requests.
import { compositeKey, type DescriptorModel } from "@weir/proto/rate-limit-config/model";
import { describe, expect, it } from "vitest";
import { createStatisticsStore } from "../statistics/statistics-store.ts";
import { compileRules } from "./compile.ts";
import { configuration, descriptor, limit } from "./configuration.suite.ts";
import type { Entry } from "./rule-set.ts";

const TREES = 2_000;
const REQUESTS_PER_TREE = 60;

/** Printed in the name of the test; any other number makes other trees. */
const SEED = 20_261_121;

/** Few letters, many underscores and stars: composites collide and overlap all the time. */
const KEYS = ["a", "b", "a_b", "a_", "_", "ab", "b*", "*b", "a*b"];
const VALUES = ["", "", "a", "b", "_", "a_b", "b_", "*", "a*", "*a", "a*b", "b_*", "*_*", "ab"];
const REQUEST_KEYS = ["a", "b", "a_b", "a_", "_", "ab", "b*", "", "abb", "a_b_", "*b"];
const REQUEST_VALUES = ["", "a", "b", "_", "a_b", "b_", "*", "ab", "aab", "b_b", "a*b", "_a", "b_a"];

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

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

function randomLevel(random: () => number, depth: number): DescriptorModel[] {
  const composites = new Set<string>();
  const level: DescriptorModel[] = [];
  for (let count = 1 + Math.floor(random() * 5); count > 0; count--) {
    const node = randomNode(random, depth);
    if (composites.has(compositeKey(node))) continue;
    composites.add(compositeKey(node));
    level.push(node);
  }
  return level;
}

function randomNode(random: () => number, depth: number): DescriptorModel {
  const key = pick(random, KEYS);
  const value = pick(random, VALUES);
  const hasWildcard = `${key}${value}`.includes("*");
  return descriptor({
    key,
    value,
    descriptors: depth > 1 && random() < 0.6 ? randomLevel(random, depth - 1) : [],
    detailedMetric: random() < 0.15,
    valueToMetric: random() < 0.2,
    shareThreshold: hasWildcard && random() < 0.4,
    ...(random() < 0.7 ? { rateLimit: limit(Math.floor(random() * 1000), "minute") } : {}),
  });
}

/** A request that follows a random way down the tree at first, so that many match, and strays from it at last. */
function randomRequest(random: () => number, descriptors: readonly DescriptorModel[]): Entry[] {
  const request: Entry[] = [];
  let level = descriptors;
  while (level.length > 0 && random() < 0.8) {
    const node = pick(random, level);
    request.push(randomEntry(random, node));
    level = node.descriptors;
  }
  if (random() < 0.2) request.push({ key: pick(random, REQUEST_KEYS), value: pick(random, REQUEST_VALUES) });
  return request;
}

/** An entry that leads to the node more often than not: split at a random underscore, stars filled, or with another value. */
function randomEntry(random: () => number, node: DescriptorModel): Entry {
  const text = random() < 0.7 ? compositeKey(node).replaceAll("*", () => pick(random, REQUEST_VALUES)) : compositeKey(node);
  const cuts = Array.from(text.matchAll(/_/g), (found) => found.index);
  if (cuts.length === 0 || random() < 0.3) return { key: text, value: pick(random, REQUEST_VALUES) };
  const cut = pick(random, cuts);
  return { key: text.slice(0, cut), value: text.slice(cut + 1) };
}

interface Found {
  readonly requests: number;
  readonly key: string;
  readonly shared: readonly string[];
}

/** A text as a pattern: every `*` is anything. */
function patternMatches(pattern: string, text: string): boolean {
  const source = pattern
    .split("*")
    .map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[^]*");
  return new RegExp(`^${source}$`).test(text);
}

/** The specification, word by word. */
function findSlowly(domain: string, descriptors: readonly DescriptorModel[], request: readonly Entry[]): Found | undefined {
  let level = descriptors;
  let last: DescriptorModel | undefined;
  const steps: { node: DescriptorModel; entry: Entry; how: "exact" | "wildcard" | "key" }[] = [];
  for (const entry of request) {
    const whole = `${entry.key}_${entry.value}`;
    const exact = level.find((node) => compositeKey(node) === whole);
    const wildcard = level.find((node) => compositeKey(node).includes("*") && patternMatches(compositeKey(node), whole));
    const alone = level.find((node) => compositeKey(node) === entry.key);
    const node = exact ?? wildcard ?? alone;
    if (node === undefined) return undefined;
    steps.push({ node, entry, how: exact !== undefined ? "exact" : wildcard !== undefined ? "wildcard" : "key" });
    level = node.descriptors;
    last = node;
  }
  if (last?.rateLimit === undefined) return undefined;
  const shared = steps.map(({ node, entry, how }) => {
    if (!node.shareThreshold || how !== "wildcard") return "";
    const pattern = compositeKey(node);
    return pattern.startsWith(`${entry.key}_`) ? pattern.slice(entry.key.length + 1) : pattern;
  });
  const isShared = shared.some((text) => text !== "");
  const parts = steps.map(({ node, entry, how }, index) => {
    if (shared[index] !== "") return compositeKey(node);
    const withValue = `${entry.key}_${entry.value}`;
    if (last.detailedMetric) return isShared && entry.value === "" ? entry.key : withValue;
    if (!node.valueToMetric || how === "exact") return compositeKey(node);
    return how === "key" && entry.value === "" ? entry.key : withValue;
  });
  return { requests: last.rateLimit.requestsPerUnit, key: [domain, ...parts].join("."), shared: isShared ? shared : [] };
}

describe("match()", () => {
  it(`match() agrees with the slow matcher on ${TREES * REQUESTS_PER_TREE} random requests (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    let found = 0;
    for (let tree = 0; tree < TREES; tree++) {
      const descriptors = randomLevel(random, 3);
      const statistics = createStatisticsStore({ maxDynamicKeys: 100_000 });
      const rules = compileRules([configuration("d", descriptors)], { statistics }).domain("d");
      for (let index = 0; index < REQUESTS_PER_TREE; index++) {
        const request = randomRequest(random, descriptors);
        const expected = findSlowly("d", descriptors, request);
        const match = rules?.match(request);
        const actual =
          match === undefined
            ? undefined
            : { requests: match.rule.limit.requestsPerUnit, key: match.statisticsKey, shared: match.sharedValues ?? [] };
        if (expected !== undefined) found += 1;
        if (JSON.stringify(actual) === JSON.stringify(expected)) continue;
        expect.soft({ request, descriptors, actual }).toEqual({ request, descriptors, actual: expected });
        return;
      }
    }
    // A generator whose requests never matched would prove nothing.
    expect(found).toBeGreaterThan((TREES * REQUESTS_PER_TREE) / 4);
  });
});
