// Measures the message codec against @bufbuild/protobuf, in turn within one process: nanoseconds per
// request decoded and per decision encoded. `--quick` measures a tenth.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type CountedMatch, LimitedCheck } from "@weir/limits/classify/check";
import {
  RateLimitRequestSchema,
  RateLimitResponseSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { Decision } from "../../../decide/decision.ts";
import { responseMessage } from "../../response-message.ts";
import { DecisionEncoder } from "./decision-encoder.ts";
import { RequestDecoder } from "./request-decoder.ts";

/** Messages before measuring, so that the code is compiled; and in each round. */
const WARM_UP = 204_800;
const ROUND = process.argv.includes("--quick") ? 20_480 : 204_800;
const ROUNDS = 9;

/** Messages between two readings of the clock. */
const BATCH = 64;

/** Different messages of a case, encoded one behind the other as in what a socket delivers. */
const VARIANTS = 1024;

/** Most nanoseconds for the usual call, one descriptor of one entry. */
const DECODE_BAR = 300;
const ENCODE_BAR = 150;

const MATCHES = new Map<string, CountedMatch>();

/** The descriptors of the requests that are decoded, as lists of keys. */
const REQUESTS: readonly { readonly name: string; readonly keys: readonly (readonly string[])[] }[] = [
  { name: "one descriptor of one entry", keys: [["user"]] },
  { name: "one descriptor of three entries", keys: [["source_cluster", "destination_cluster", "user"]] },
  { name: "three descriptors", keys: [["path"], ["user"], ["plan", "user"]] },
];

/** The decisions that are encoded. */
const DECISIONS: readonly { readonly name: string; readonly decisions: readonly Decision[] }[] = [
  { name: "one status", decisions: times(VARIANTS, (index) => decision(index, [""])) },
  {
    name: "one status, a rule with a name",
    decisions: times(VARIANTS, (index) => decision(index, ["requests_per_user"])),
  },
  { name: "three statuses", decisions: times(VARIANTS, (index) => decision(index, ["", "", ""])) },
  {
    name: "one status and three headers",
    decisions: times(VARIANTS, (index) => ({
      ...decision(index, [""]),
      headers: [
        { key: "RateLimit-Limit", value: "1000" },
        { key: "RateLimit-Remaining", value: String(index) },
        { key: "RateLimit-Reset", value: "35" },
      ],
    })),
  },
];

if (import.meta.main) {
  print("message", "ns", "ns @bufbuild", "bar");
  REQUESTS.forEach((each, index) => measureDecode(each.name, each.keys, index === 0 ? DECODE_BAR : undefined));
  DECISIONS.forEach((each, index) => measureEncode(each.name, each.decisions, index === 0 ? ENCODE_BAR : undefined));
}

function measureDecode(name: string, keys: readonly (readonly string[])[], bar: number | undefined): void {
  const messages = times(VARIANTS, (index) =>
    toBinary(
      RateLimitRequestSchema,
      create(RateLimitRequestSchema, {
        domain: "benchmark",
        descriptors: keys.map((entries) => ({
          entries: entries.map((key) => ({ key, value: `${key}-${(index * 7919) % 100_000}` })),
        })),
      }),
    ),
  );
  const chunk = Buffer.concat(messages);
  const offsets = messages.reduce<number[]>((sums, message) => [...sums, (sums.at(-1) ?? 0) + message.length], [0]);
  const decoder = new RequestDecoder({ maxDescriptors: 1000, maxEntries: 100 });
  const range = (index: number): readonly [number, number] => [offsets[index] ?? 0, offsets[index + 1] ?? 0];
  report(`decode: ${name}`, bar, [
    (index) => {
      const [start, end] = range(index);
      return decoder.decode(chunk, start, end).descriptors.length;
    },
    (index) => fromBinary(RateLimitRequestSchema, chunk.subarray(...range(index))).descriptors.length,
  ]);
}

function measureEncode(name: string, decisions: readonly Decision[], bar: number | undefined): void {
  const encoder = new DecisionEncoder();
  const target = Buffer.alloc(65_536);
  let at = 0;
  const [first] = decisions;
  if (first === undefined) throw new Error("There are no decisions");
  report(`encode: ${name}`, bar, [
    (index) => {
      const each = decisions[index] ?? first;
      if (at + encoder.maxBytes(each) > target.length) at = 0;
      at = encoder.encode(each, target, at);
      return at;
    },
    (index) => toBinary(RateLimitResponseSchema, responseMessage(decisions[index] ?? first)).length,
  ]);
}

/** Measures two ways in turn; the median of the rounds of each counts. */
function report(name: string, bar: number | undefined, ways: readonly ((index: number) => number)[]): void {
  const rounds: number[][] = ways.map(() => []);
  for (const way of ways) run(way, WARM_UP);
  for (let round = 0; round < ROUNDS; round++) ways.forEach((way, index) => rounds[index]?.push(run(way, ROUND)));
  const [ours = Number.NaN, theirs = Number.NaN] = rounds.map(medianOf);
  const verdict = bar === undefined ? "" : `<= ${bar} ${ours <= bar ? "PASS" : "MISS"}`;
  print(name, ours.toFixed(0), theirs.toFixed(0), verdict);
}

/**
 * Nanoseconds per message: the median over batches, which a batch that lost its processor to another
 * program does not move.
 */
function run(way: (index: number) => number, messages: number): number {
  const nanoseconds: number[] = [];
  let sum = 0;
  for (let index = 0; index < messages; index += BATCH) {
    const began = process.hrtime.bigint();
    for (let at = index; at < index + BATCH; at++) sum += way(at % VARIANTS);
    nanoseconds.push(Number(process.hrtime.bigint() - began) / BATCH);
  }
  if (sum <= 0) throw new Error("Nothing was measured");
  return medianOf(nanoseconds);
}

/** The decision of a call with a limited descriptor for each name of a rule. */
function decision(index: number, names: readonly string[]): Decision {
  const statuses = names.map((name) => {
    const check = new LimitedCheck(matchOf(name), "key", 1_000_000, 1);
    check.limitRemaining = 1000 - (index % 1000);
    check.durationUntilResetSeconds = 1 + (index % 3600);
    return check;
  });
  return { overallCode: 1, statuses, headers: undefined, dynamicMetadata: undefined };
}

/** The match of a rule with this name, one for all calls. */
function matchOf(name: string): CountedMatch {
  const known = MATCHES.get(name);
  if (known !== undefined) return known;
  const rule = {
    path: `benchmark.${name}`,
    limit: { requestsPerUnit: 1000, unit: 3, name },
    windowSeconds: 3600,
    unlimited: false,
    shadowMode: false,
    quotaMode: false,
    replaces: [],
  };
  const match: CountedMatch = {
    rule,
    statisticsKey: rule.path,
    attachment: {
      totalHits: 0,
      overLimit: 0,
      nearLimit: 0,
      overLimitWithLocalCache: 0,
      withinLimit: 0,
      shadowMode: 0,
      totalNegativeHits: 0,
    },
    sharedValues: undefined,
    metadata: undefined,
  };
  MATCHES.set(name, match);
  return match;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function print(name: string, ...cells: readonly string[]): void {
  process.stdout.write(`${name.padEnd(48)} ${cells.map((cell) => cell.padStart(14)).join(" ")}\n`);
}
