// Measures how the cost of a match grows with the number of rules: few against many, in turn within
// one process, so that only the ratio counts. docs/benchmarks.md describes the method.
import { parseRuleFile } from "../rule-file/rule-file.ts";
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

/** One comparison of 10 rules with many. */
interface Case {
  readonly name: string;
  readonly many: number;
  /** Domains that the few rules are in, each with all of them; the many are always in one. */
  readonly domains?: number;
  /** Most that a match among many may cost, as a multiple of one among few. */
  readonly bar: number;
  /** The end of each rule's value. */
  readonly wildcard?: string;
  /** True if requests are for the first rules only, the same ones on both sides. */
  readonly isForFew?: boolean;
  /** The end of a request's value; without it the value is the rule's. */
  readonly ending?: (request: number) => string;
  /** True if the requests match. */
  readonly isHit: boolean;
}

const FEW = 10;
const EXACT = { many: 10_000, bar: 2 } as const;
const WILDCARD = { many: 1000, bar: 5, wildcard: "/*" } as const;

const CASES: readonly Case[] = [
  { ...EXACT, name: "exact, same requests", isForFew: true, isHit: true },
  { ...EXACT, name: "exact, all rules in turn", isHit: true },
  // Both sides have the same number of rules and none is in the processor's cache.
  { ...EXACT, name: "exact, all in turn, few in 1,000 domains", domains: 1000, isHit: true },
  { ...EXACT, name: "exact, none matches", ending: (request) => `-${request}`, isHit: false },
  { ...WILDCARD, name: "prefix wildcards, all in turn", ending: (request) => `/items/${request}`, isHit: true },
  { ...WILDCARD, name: "prefix wildcards, none matches", ending: (request) => `-${request}`, isHit: false },
];

/** A step through rules that shuffles them: prime to every number of rules here. */
const SHUFFLE = 7919;

const ATTACH = { rule: (path: string) => path, dynamic: (key: string) => key };

/** Rules of a domain and the requests for them. */
interface Side {
  /** The rules that the request with this index is for. */
  readonly rules: (index: number) => DomainRules<string> | undefined;
  readonly request: (index: number) => readonly Entry[];
}

function sideOf({ wildcard = "", isForFew = false, ending }: Case, rules: number, domains: number): Side {
  const asked = isForFew ? FEW : rules;
  const limit = "rate_limit: { unit: hour, requests_per_unit: 100 }";
  const lines = Array.from(
    { length: rules },
    (_, rule) => `- { key: route, value: "${valueOf(rule)}${wildcard}", ${limit} }`,
  );
  const file = parseRuleFile("benchmark", `domain: benchmark\ndescriptors:\n${lines.join("\n")}`);
  if (!file.ok) throw new Error(file.message);
  const { model } = file;
  const compiled = Array.from({ length: domains }, () => compileRules([model], ATTACH).domain(model.domain));
  return {
    // All rules of a domain are asked for before any is again, domain by domain in a shuffled order.
    rules: (index) => compiled[(Math.floor(index / asked) * SHUFFLE) % domains],
    // One rule after the other, in a shuffled order, the same in every run. Key and value are new
    // strings each time, as they come from the wire.
    request: (index) => [
      {
        key: newString("route"),
        value: newString(valueOf((index * SHUFFLE) % asked) + (ending?.(index % 1000) ?? "")),
      },
    ],
  };
}

function valueOf(rule: number): string {
  return `/v1/route-${rule}`;
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
    for (const each of batch) if (each.rules?.match(each.entries) !== undefined) hits++;
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

function print(name: string, ...cells: readonly string[]): void {
  process.stdout.write(`${name.padEnd(62)} ${cells.map((cell) => cell.padStart(17)).join(" ")}\n`);
}

if (import.meta.main) {
  print("rules", "ns among few", "ns among many", "ratio", "bar", "");
  for (const each of CASES) {
    const few = sideOf(each, FEW, each.domains ?? 1);
    const many = sideOf(each, each.many, 1);
    for (const side of [few, many]) measure(side, WARM_UP, each.isHit);
    const rounds = Array.from({ length: ROUNDS }, () => ({
      few: measure(few, ROUND, each.isHit),
      many: measure(many, ROUND, each.isHit),
    }));
    const ratios = rounds.map((round) => round.many / round.few);
    print(
      `${each.name}, ${FEW} against ${each.many}`,
      spreadText(
        rounds.map(({ few: ns }) => ns),
        0,
      ),
      spreadText(
        rounds.map(({ many: ns }) => ns),
        0,
      ),
      spreadText(ratios, 2),
      `<= ${each.bar}`,
      medianOf(ratios) <= each.bar ? "PASS" : "MISS",
    );
  }
}
