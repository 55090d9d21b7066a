// The compiled tables against a slow reference model of matching, on random rule trees and requests.
import type { JsonObject } from "@bufbuild/protobuf";
import { compositeKey, type DescriptorModel, type RateLimitModel } from "../model/model.ts";
import { describe, expect, it } from "vitest";
import { compileRules } from "./compile.ts";
import { attachKeys, configuration, descriptor, limit, unlimited } from "./configuration.suite.ts";
import type { Entry, RuleMatch } from "./rule.ts";

const TREES = 1_000;
const REQUESTS_PER_TREE = 60;

/** Longest time of the test, in milliseconds: some seconds, on a machine that does much else. */
const TIMEOUT_MS = 60_000;

/** Deepest nesting of rules. */
const DEPTH_MAX = 6;

/** Most rules of one level, and of one that is crowded with patterns. */
const LEVEL_MAX = 5;
const CROWDED_LEVEL_MAX = 40;

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
  const isCrowded = random() < 0.05;
  for (let count = 1 + Math.floor(random() * (isCrowded ? CROWDED_LEVEL_MAX : LEVEL_MAX)); count > 0; count--) {
    const node = randomNode(random, depth, isCrowded);
    if (composites.has(compositeKey(node))) continue;
    composites.add(compositeKey(node));
    level.push(node);
  }
  return level;
}

function randomNode(random: () => number, depth: number, isPattern: boolean): DescriptorModel {
  const key = pick(random, KEYS);
  const value = isPattern ? randomPattern(random) : pick(random, VALUES);
  const hasWildcard = `${key}${value}`.includes("*");
  return descriptor({
    key,
    value,
    descriptors: depth > 1 && !isPattern && random() < 0.6 ? randomLevel(random, depth - 1) : [],
    detailedMetric: random() < 0.15,
    valueToMetric: random() < 0.2,
    shareThreshold: hasWildcard && random() < 0.4,
    shadowMode: random() < 0.2,
    quotaMode: random() < 0.2,
    ...(random() < 0.7 ? { rateLimit: randomLimit(random) } : {}),
    ...(random() < 0.3 ? { metadata: { name: pick(random, VALUES) } } : {}),
  });
}

/** Mostly a text that ends with its only star: what is looked up in a tree. */
function randomPattern(random: () => number): string {
  const length = Math.floor(random() * 5);
  const text = Array.from({ length }, () => pick(random, ["a", "b", "_"])).join("");
  return random() < 0.7 ? `${text}*` : `${text}*${pick(random, ["a", "b", "_", "a*"])}`;
}

function randomLimit(random: () => number): RateLimitModel {
  const names = { name: pick(random, ["", "n", "m"]), replaces: random() < 0.2 ? [{ name: "other" }] : [] };
  if (random() < 0.1) return unlimited(names);
  return limit(
    Math.floor(random() * 1000),
    pick(random, ["second", "MINUTE", "Hour", "day", "WEEK", "month", "Year"]),
    names,
  );
}

/**
 * A request that follows a random way down the tree at first, so that many match, and strays from
 * it at last.
 */
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

/**
 * An entry that leads to the node more often than not: split at a random underscore, stars filled,
 * or with another value.
 */
function randomEntry(random: () => number, node: DescriptorModel): Entry {
  const text =
    random() < 0.7 ? compositeKey(node).replaceAll("*", () => pick(random, REQUEST_VALUES)) : compositeKey(node);
  const cuts = Array.from(text.matchAll(/_/g), (found) => found.index);
  if (cuts.length === 0 || random() < 0.3) return { key: text, value: pick(random, REQUEST_VALUES) };
  const cut = pick(random, cuts);
  return { key: text.slice(0, cut), value: text.slice(cut + 1) };
}

/** Everything of a match that a decision or an answer depends on. */
interface Found {
  readonly path: string;
  readonly key: string;
  readonly shared: readonly string[];
  readonly metadata: JsonObject | null;
  readonly limit: string;
  readonly flags: string;
  readonly replaces: readonly string[];
}

const expressions = new Map<string, RegExp>();

/** Returns true if the pattern matches: every `*` is anything. */
function patternMatches(pattern: string, text: string): boolean {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    const pieces = pattern.split("*").map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    expressions.set(pattern, (expression = new RegExp(`^${pieces.join("[^]*")}$`)));
  }
  return expression.test(text);
}

/** Matches the way docs/configuration.md describes it, one rule after the other. */
function findSlowly(
  domain: string,
  descriptors: readonly DescriptorModel[],
  request: readonly Entry[],
): Found | undefined {
  let level = descriptors;
  let last: DescriptorModel | undefined;
  const steps: { node: DescriptorModel; entry: Entry; how: "exact" | "wildcard" | "key" }[] = [];
  for (const entry of request) {
    const whole = `${entry.key}_${entry.value}`;
    const exact = level.find((node) => compositeKey(node) === whole);
    const wildcard = level.find(
      (node) => compositeKey(node).includes("*") && patternMatches(compositeKey(node), whole),
    );
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
    return entry.value === "" ? entry.key : withValue;
  });
  const path = [domain, ...steps.map(({ node }) => compositeKey(node))].join(".");
  const key = [domain, ...parts].join(".");
  // envoyproxy/ratelimit loses the metadata of a limit whose key it recomputed.
  const isAnew = last.detailedMetric ? last.descriptors.length === 0 : key !== path;
  const { rateLimit } = last;
  return {
    path,
    key,
    shared: isShared ? shared : [],
    metadata: isAnew ? null : (last.metadata ?? null),
    limit: limitText(rateLimit.unlimited ? 0 : rateLimit.requestsPerUnit, windowSecondsOf(rateLimit), rateLimit.name),
    flags: flagsText(rateLimit.unlimited, last.shadowMode, last.quotaMode),
    replaces: rateLimit.replaces.map(({ name }) => name),
  };
}

/** The match of a limit that the request carries. */
function overrideSlowly(domain: string, request: readonly Entry[], requests: number): Found {
  return {
    path: `${domain}.override`,
    key: `${domain}.${request.map(({ key, value }) => (value === "" ? key : `${key}_${value}`)).join(".")}`,
    shared: [],
    metadata: null,
    limit: limitText(requests, 3600, ""),
    flags: flagsText(false, false, false),
    replaces: [],
  };
}

function windowSecondsOf(rateLimit: RateLimitModel): number {
  const seconds: Readonly<Record<string, number>> = {
    second: 1,
    minute: 60,
    hour: 3600,
    day: 86_400,
    week: 604_800,
    month: 2_592_000,
    year: 31_536_000,
  };
  return rateLimit.unlimited ? 0 : (seconds[rateLimit.unit.toLowerCase()] ?? Number.NaN);
}

function limitText(requests: number, windowSeconds: number, name: string): string {
  return `${requests} per ${windowSeconds} s '${name}'`;
}

function flagsText(isUnlimited: boolean, isShadow: boolean, isQuota: boolean): string {
  return `unlimited ${isUnlimited}, shadow ${isShadow}, quota ${isQuota}`;
}

function foundOf(match: RuleMatch<string> | undefined): Found | undefined {
  if (match === undefined) return undefined;
  const { rule } = match;
  return {
    path: rule.path,
    key: match.statisticsKey,
    shared: match.sharedValues ?? [],
    metadata: match.metadata ?? null,
    limit: limitText(rule.limit.requestsPerUnit, rule.windowSeconds, rule.limit.name),
    flags: flagsText(rule.unlimited, rule.shadowMode, rule.quotaMode),
    replaces: rule.replaces,
  };
}

describe("match()", () => {
  it(
    `match() agrees with the reference model on ${TREES * REQUESTS_PER_TREE} random requests (seed ${SEED})`,
    () => {
      const random = createRandom(SEED);
      const seen = { found: 0, shared: 0, metadata: 0, deepest: 0 };
      for (let tree = 0; tree < TREES; tree++) {
        const descriptors = randomLevel(random, 1 + Math.floor(random() * DEPTH_MAX));
        const rules = compileRules([configuration("d", descriptors)], attachKeys).domain("d");
        for (let index = 0; index < REQUESTS_PER_TREE; index++) {
          const request = randomRequest(random, descriptors);
          const isOverride = random() < 0.05;
          const expected = isOverride ? overrideSlowly("d", request, index) : findSlowly("d", descriptors, request);
          const actual = foundOf(
            isOverride ? rules?.override(request, { requestsPerUnit: index, unit: 3 }) : rules?.match(request),
          );
          if (expected !== undefined && !isOverride) {
            seen.found += 1;
            seen.shared += expected.shared.length > 0 ? 1 : 0;
            seen.metadata += expected.metadata === null ? 0 : 1;
            seen.deepest = Math.max(seen.deepest, request.length);
          }
          if (JSON.stringify(actual) === JSON.stringify(expected)) continue;
          expect.soft({ request, descriptors, actual }).toEqual({ request, descriptors, actual: expected });
          return;
        }
      }
      // Requests that never match, or never match rare rules, would prove nothing.
      expect(seen.found).toBeGreaterThan((TREES * REQUESTS_PER_TREE) / 4);
      expect(seen.shared).toBeGreaterThan(1000);
      expect(seen.metadata).toBeGreaterThan(1000);
      expect(seen.deepest).toBe(DEPTH_MAX);
    },
    TIMEOUT_MS,
  );
});
