// Measures how the cost of a match grows with the number of rules: few against many, in turn within
// one process, so that only the ratio counts. docs/benchmarks.md describes the method.
import type { DescriptorModel } from "../model/model.ts";
import { compileRules } from "./compile.ts";
import type { DomainRules } from "./domain-rules.ts";
import type { Entry } from "./rule.ts";

const isQuick = process.argv.includes("--quick");

/** Matches before measuring, so that the code is compiled; and in each round. */
const WARM_UP = 256_000;
const ROUND = isQuick ? 64_000 : 256_000;
const ROUNDS = isQuick ? 5 : 15;

/**
 * Descriptors made outside the measured time before they are matched: so few that they are still in
 * the processor's cache, as one that was just read from the wire.
 */
const BATCH = 64;

/** One comparison. */
interface Case {
  readonly name: string;
  readonly few: number;
  readonly many: number;
  /** Domains that the few rules are in, each with all of them; the many are always in one. */
  readonly domains: number;
  /** Most that a match among many may cost, as a multiple of one among few. */
  readonly bar: number;
  /** The value of the rule with this number. */
  readonly ruleValue: (rule: number) => string;
  /** Rules that requests are for; the same ones on both sides when they are few. */
  readonly asked: "all" | "few";
  /** The value of a request for the rule with this number. */
  readonly requestValue: (rule: number, request: number) => string;
  /** Whether the requests match. */
  readonly isHit: boolean;
}

const EXACT = { few: 10, many: 10_000, domains: 1, bar: 2, ruleValue: routeOf } as const;
const WILDCARD = {
  few: 10,
  many: 1000,
  domains: 1,
  bar: 5,
  ruleValue: (rule: number) => `${routeOf(rule)}/*`,
} as const;

/** Requests for the rules in turn, each with the value of a rule. */
const HITS = { asked: "all", requestValue: routeOf, isHit: true } as const;

/** Requests with a value that no rule has. */
const MISSES = {
  asked: "all",
  requestValue: (rule: number, request: number) => `${routeOf(rule)}-${request}`,
  isHit: false,
} as const;

const CASES: readonly Case[] = [
  { ...EXACT, ...HITS, name: "exact, same requests", asked: "few" },
  { ...EXACT, ...HITS, name: "exact, all rules in turn" },
  // Both sides have the same number of rules and none is in the processor's cache.
  { ...EXACT, ...HITS, name: "exact, all in turn, few in 1,000 domains", domains: 1000 },
  { ...EXACT, ...MISSES, name: "exact, none matches" },
  {
    ...WILDCARD,
    ...HITS,
    name: "prefix wildcards, all in turn",
    requestValue: (rule, request) => `${routeOf(rule)}/items/${request}`,
  },
  { ...WILDCARD, ...MISSES, name: "prefix wildcards, none matches" },
];

function routeOf(rule: number): string {
  return `/v1/route-${rule}`;
}

/** Rules of a domain and the requests for them. */
interface Side {
  /** The rules that the request with this index is for. */
  readonly rules: (index: number) => DomainRules<string>;
  readonly request: (index: number) => readonly Entry[];
}

function sideOf({ few, asked, ruleValue, requestValue }: Case, rules: number, domains: number): Side {
  const askedRules = asked === "few" ? few : rules;
  const descriptors = Array.from({ length: rules }, (_, rule) => descriptor(ruleValue(rule)));
  const names = Array.from({ length: domains }, (_, domain) => `benchmark-${domain}`);
  const ruleSet = compileRules(
    names.map((domain) => ({ name: domain, domain, descriptors })),
    { rule: (path) => path, dynamic: (key) => key },
  );
  const compiled = names.map((domain) => ruleSet.domain(domain) ?? expectDomain(domain));
  // One rule after the other, in a shuffled order, the same in every run: 7919 is prime to every
  // number of rules here. Key and value are new strings each time, as they come from the wire.
  const request = (index: number): readonly Entry[] => [
    { key: newString("route"), value: newString(requestValue((index * 7919) % askedRules, index % 1000)) },
  ];
  // All rules of a domain are asked for before any is again, domain by domain in a shuffled order
  // as well.
  return {
    rules: (index) => compiled[(Math.floor(index / askedRules) * 7919) % domains] ?? expectDomain(String(index)),
    request,
  };
}

function expectDomain(domain: string): never {
  throw new Error(`The domain ${domain} is not among the compiled rules`);
}

function descriptor(value: string): DescriptorModel {
  return {
    key: "route",
    value,
    descriptors: [],
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
    rateLimit: { unit: "hour", requestsPerUnit: 100, unlimited: false, name: "", replaces: [] },
  };
}

function newString(text: string): string {
  return Buffer.from(text).toString();
}

/**
 * Nanoseconds per match: the median over batches, which a batch that lost its processor to another
 * program does not move.
 */
function measure({ rules, request }: Side, matches: number, isHit: boolean): number {
  const nanoseconds: number[] = [];
  let hits = 0;
  for (let index = 0; index < matches; index += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, at) => ({
      rules: rules(index + at),
      entries: request(index + at),
    }));
    const began = process.hrtime.bigint();
    for (const each of batch) if (each.rules.match(each.entries) !== undefined) hits++;
    nanoseconds.push(Number(process.hrtime.bigint() - began) / BATCH);
  }
  if (hits !== (isHit ? matches : 0)) throw new Error(`${hits} of ${matches} requests matched`);
  return medianOf(nanoseconds);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** "310 (298–355)". */
function spreadText(values: readonly number[], decimals: number): string {
  const text = (value: number): string => value.toFixed(decimals);
  return `${text(medianOf(values))} (${text(Math.min(...values))}–${text(Math.max(...values))})`;
}

function print(cells: readonly string[]): void {
  const widths = [62, 16, 18, 5, 4];
  process.stdout.write(
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join(" ")}\n`,
  );
}

if (import.meta.main) {
  print(["rules", "ns among few", "ns among many", "ratio", "bar", ""]);
  for (const each of CASES) {
    const few = sideOf(each, each.few, each.domains);
    const many = sideOf(each, each.many, 1);
    for (const side of [few, many]) measure(side, WARM_UP, each.isHit);
    const rounds = Array.from({ length: ROUNDS }, () => ({
      few: measure(few, ROUND, each.isHit),
      many: measure(many, ROUND, each.isHit),
    }));
    const ratios = rounds.map((round) => round.many / round.few);
    print([
      `${each.name}, ${each.few} against ${each.many}`,
      spreadText(rounds.map((round) => round.few), 0), // prettier-ignore
      spreadText(rounds.map((round) => round.many), 0), // prettier-ignore
      spreadText(ratios, 2),
      `<= ${each.bar}`,
      medianOf(ratios) <= each.bar ? "PASS" : "MISS",
    ]);
  }
}
