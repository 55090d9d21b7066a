// Random requests for random rules: most follow the rules, some leave them, some bring limits.
import { create } from "@bufbuild/protobuf";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { RateLimitUnit } from "@weir/proto/generated/envoy/type/v3/ratelimit_unit_pb";
import type { Random } from "@weir/harness/processes/random";
import { type RandomDomain, type RandomRule, UNLIMITED_KEY } from "./random-rules.ts";

/** Texts in the place of the star of a pattern; in keys without dots, which separate the parts of a statistic's name. */
const FILLINGS = ["", "a", "_w", "a.pdf", "0.1", "1/2"] as const;
const KEY_FILLINGS = ["", "a", "_w", "ges"] as const;
const OTHER_KEYS = ["k", "k_v", "path", "pages", "other", UNLIMITED_KEY, ""] as const;
const OTHER_VALUES = ["", "", "v", "w", "v_w", "other", "files/c", "10.0.0.1"] as const;

/** Hits of a descriptor or a request; 0 of a descriptor is a check. */
const HITS = [0, 0, 1, 1, 2, 3, 5, 20, 100, 5_000_000_000] as const;
const REQUEST_HITS = [0, 1, 2, 3, 10, 4_294_967_295] as const;
const OVERRIDE_LIMITS = [0, 1, 2, 5, 20, 1000] as const;

/** A descriptor as `create` takes it. */
interface RandomDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: RateLimitUnit };
  readonly hitsAddend?: bigint;
}

/**
 * Draws a request for `domain`; few are invalid or name an unknown domain. None gives hits back: the
 * version that Weir is compared with does not know how.
 */
export function drawRequest(random: Random, { domain, descriptors: rules }: RandomDomain): RateLimitRequest {
  const drawn = Array.from({ length: random.between(1, random.oneIn(3) ? 4 : 2) }, () => drawDescriptor(random, rules));
  const first = drawn[0];
  const repeated = first !== undefined && random.oneIn(7) ? [...drawn, first] : drawn;
  return create(RateLimitRequestSchema, {
    domain: random.oneIn(200) ? "" : random.oneIn(40) ? "unknown.domain" : domain,
    descriptors: random.oneIn(200) ? [] : repeated.map(toInit),
    hitsAddend: random.oneIn(4) ? random.pick(REQUEST_HITS) : 0,
  });
}

function toInit({ entries, ...rest }: RandomDescriptor) {
  return { entries: entries.map((entry) => ({ ...entry })), ...rest };
}

function drawDescriptor(random: Random, rules: readonly RandomRule[]): RandomDescriptor {
  return {
    entries: drawEntries(random, rules),
    ...(random.oneIn(12) && {
      limit: {
        requestsPerUnit: random.pick(OVERRIDE_LIMITS),
        unit: random.pick([RateLimitUnit.HOUR, RateLimitUnit.DAY]),
      },
    }),
    ...(random.oneIn(4) && { hitsAddend: BigInt(random.pick(HITS)) }),
  };
}

function drawEntries(random: Random, rules: readonly RandomRule[]): RandomDescriptor["entries"] {
  if (random.oneIn(60)) return [];
  const entries: { key: string; value: string }[] = [];
  for (let level: readonly RandomRule[] | undefined = rules; level !== undefined && level.length > 0;) {
    if (random.oneIn(8)) break;
    const rule: RandomRule = random.pick(level);
    entries.push({ key: fill(random, rule.key, KEY_FILLINGS), value: drawValue(random, rule) });
    level = rule.descriptors;
  }
  const hasMore = entries.length === 0 || random.oneIn(12);
  return hasMore ? [...entries, { key: random.pick(OTHER_KEYS), value: random.pick(OTHER_VALUES) }] : entries;
}

function drawValue(random: Random, { value }: RandomRule): string {
  return value === undefined || random.oneIn(8) ? random.pick(OTHER_VALUES) : fill(random, value);
}

function fill(random: Random, pattern: string, fillings: readonly [string, ...string[]] = FILLINGS): string {
  return pattern.replace("*", () => random.pick(fillings));
}
