// Random rule files: every feature of rules that both services have, with few keys and values, so
// that rules overlap and limits are exceeded.
import type { Random } from "@weir/harness/processes/random";

/** One descriptor of a rule file, as it is written. */
export interface RandomRule {
  readonly key: string;
  readonly value?: string;
  readonly rate_limit?: Readonly<Record<string, unknown>>;
  readonly descriptors?: readonly RandomRule[];
  readonly shadow_mode?: boolean;
  readonly quota_mode?: boolean;
  readonly detailed_metric?: boolean;
  readonly value_to_metric?: boolean;
  readonly share_threshold?: boolean;
}

/** One domain: calls of one domain depend on each other, those of two do not. */
export interface RandomDomain {
  readonly domain: string;
  readonly descriptors: readonly RandomRule[];
}

/** Key of every unlimited rule, and of no other. */
export const UNLIMITED_KEY = "free";

/** Beginning of the name of every rule in quota mode, and of no other. */
export const QUOTA_NAME = "quota";

/** Their names have what statistics replace: colons, bars and IPv4 addresses. */
const DOMAINS = ["plain", "with.dot", "a:b|c", "10.1.2.3"] as const;

/** `k` with the value `v_w` and `k_v` with the value `w` have one composite key. */
const KEYS = ["k", "k", "k_v", "path", "remote_address", "k|:"] as const;
const VALUES = ["v", "v_w", "w", "10.0.0.1", "files/a.pdf", "files/b", "GET", "a:b|c", "ü"] as const;
const WILDCARDS = ["files/*", "f*", "*", "v*", "v_*", "10.0.*"] as const;
const NAMES = ["gold", "silver", "bronze"] as const;
const QUOTA_NAMES = [`${QUOTA_NAME}-a`, `${QUOTA_NAME}-b`] as const;
const UNITS = ["hour", "day", "HOUR", "Day"] as const;

/**
 * 0 rejects every hit. 2^24 + 1 is no single-precision number, which near limits are computed with; none
 * of these is rounded up, because the near limit would be above the limit then.
 */
const LIMITS = [0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 16_777_217, 4_294_967_040] as const;

const DEPTH_MAX = 3;

/** Kinds of rules that a configuration may leave out. */
export interface RuleKinds {
  readonly hasQuota: boolean;
  readonly hasUnlimited: boolean;
}

/** Draws the rules of every domain. */
export function drawDomains(random: Random, kinds: RuleKinds): readonly RandomDomain[] {
  return DOMAINS.map((domain) => ({ domain, descriptors: drawLevel(random, kinds, 1) }));
}

function drawLevel(random: Random, kinds: RuleKinds, depth: number): readonly RandomRule[] {
  const rules = new Map<string, RandomRule>();
  for (let count = random.between(3, depth === 1 ? 8 : 4); count > 0; count--) {
    const rule = drawRule(random, kinds, depth);
    // Two rules of one composite key are an invalid file.
    rules.set(rule.value === undefined ? rule.key : `${rule.key}_${rule.value}`, rule);
  }
  return [...rules.values()];
}

function drawRule(random: Random, kinds: RuleKinds, depth: number): RandomRule {
  if (kinds.hasUnlimited && random.oneIn(12)) return drawUnlimited(random);
  const isWildcard = random.oneIn(3);
  const value = isWildcard ? random.pick(WILDCARDS) : random.oneIn(2) ? random.pick(VALUES) : undefined;
  const hasChildren = depth < DEPTH_MAX && random.oneIn(2);
  const isQuota = kinds.hasQuota && random.oneIn(5);
  const hasLimit = !hasChildren || random.oneIn(2);
  return {
    // A key alone may be a wildcard, too.
    key: !isWildcard && value === undefined && random.oneIn(10) ? "pa*" : random.pick(KEYS),
    ...(value !== undefined && { value }),
    ...(hasLimit && !random.oneIn(10) && { rate_limit: drawLimit(random, isQuota) }),
    ...(random.oneIn(6) && { shadow_mode: true }),
    ...(isQuota && { quota_mode: true }),
    ...(random.oneIn(4) && { detailed_metric: true }),
    ...(random.oneIn(4) && { value_to_metric: true }),
    ...(isWildcard && random.oneIn(2) && { share_threshold: true }),
    ...(hasChildren && { descriptors: drawLevel(random, kinds, depth + 1) }),
  };
}

function drawUnlimited(random: Random): RandomRule {
  return {
    key: UNLIMITED_KEY,
    ...(random.oneIn(2) && { value: random.pick(VALUES) }),
    rate_limit: {
      unlimited: true,
      ...(random.oneIn(2) && { name: random.pick(NAMES) }),
      ...(random.oneIn(3) && { replaces: [{ name: "other" }, { name: random.pick(QUOTA_NAMES) }] }),
    },
  };
}

function drawLimit(random: Random, isQuota: boolean): Readonly<Record<string, unknown>> {
  const name = isQuota ? random.pick(QUOTA_NAMES) : random.oneIn(2) ? random.pick(NAMES) : undefined;
  const others = [...NAMES, ...QUOTA_NAMES].filter((other) => other !== name && random.oneIn(3));
  return {
    unit: random.pick(UNITS),
    // The field may be missing: the limit is 0 then.
    ...(!random.oneIn(20) && { requests_per_unit: random.pick(LIMITS) }),
    ...(name !== undefined && { name }),
    ...(random.oneIn(5) && others.length > 0 && { replaces: others.map((other) => ({ name: other })) }),
  };
}
