// The model that rule files, messages and custom resources all become before they are validated and
// compiled. Not validated yet: a model may break every rule of validate.ts.
import type { JsonObject } from "@bufbuild/protobuf";

/** The rules of one domain. */
export interface RateLimitConfigModel {
  /** Source of the rules: the prefix of error texts. */
  readonly name: string;
  readonly domain: string;
  readonly descriptors: readonly DescriptorModel[];
}

/**
 * A rule: matches one entry of a request's descriptor, limits it or leads to rules for the next
 * entry.
 */
export interface DescriptorModel {
  readonly key: string;
  /** Empty means that any value matches. */
  readonly value: string;
  /** Absent on rules that only lead to others, and on exemptions. */
  readonly rateLimit?: RateLimitModel;
  /** Several limits in place of `rateLimit`, each with a name: a call passes when it has room in all. */
  readonly rateLimits?: readonly RateLimitModel[];
  readonly descriptors: readonly DescriptorModel[];
  readonly shadowMode: boolean;
  readonly detailedMetric: boolean;
  readonly quotaMode: boolean;
  readonly valueToMetric: boolean;
  readonly shareThreshold: boolean;
  /** True if keys that count most show values of this level as texts; absent means false. */
  readonly showValues?: boolean;
  readonly metadata?: JsonObject;
}

export interface RateLimitModel {
  /** As written; empty when missing. Messages give the enum's name, UNKNOWN included. */
  readonly unit: string;
  /** 0 to 4294967295; 0 rejects everything. */
  readonly requestsPerUnit: number;
  readonly unlimited: boolean;
  /** Empty when the limit has no name. */
  readonly name: string;
  readonly replaces: readonly { readonly name: string }[];
  /** Units in a window; absent means 1. */
  readonly unitMultiplier?: number;
  /** As written, such as `token_bucket`; absent means `fixed_window`. */
  readonly algorithm?: string;
  /** Capacity of a token bucket in hits; absent means `requestsPerUnit`. */
  readonly burst?: number;
  /** True if the hits of calls that the limit rejects count; absent means only in a fixed window outside of lists. */
  readonly countRejectedHits?: boolean;
  /** IANA name of the time zone that windows of days, weeks, months and years begin in; absent means aligned to the epoch. */
  readonly timeZone?: string;
  /** Day of the month, 1 to 31, that windows of months begin on; absent means 1. */
  readonly monthDay?: number;
}

/** The fields of a limit that envoyproxy/ratelimit does not have. */
export const WINDOW_FIELDS = [
  "unitMultiplier",
  "algorithm",
  "burst",
  "countRejectedHits",
  "timeZone",
  "monthDay",
] as const satisfies readonly (keyof RateLimitModel)[];

type WindowFields = Pick<RateLimitModel, (typeof WINDOW_FIELDS)[number]>;

/** Those of them that are present. */
export function windowFieldsOf(limit: {
  readonly [Field in keyof WindowFields]: WindowFields[Field] | undefined;
}): WindowFields {
  const present: WindowFields = {};
  for (const field of WINDOW_FIELDS) if (limit[field] !== undefined) Object.assign(present, { [field]: limit[field] });
  return present;
}

/**
 * Returns the name of a rule among its siblings: `key` or `key_value`. Two rules of one level must
 * not share it.
 */
export function compositeKey(descriptor: { readonly key: string; readonly value: string }): string {
  return descriptor.value === "" ? descriptor.key : `${descriptor.key}_${descriptor.value}`;
}

/** Ways to count, as configurations write them. */
export const ALGORITHMS = ["fixed_window", "sliding_window", "token_bucket"] as const;

/** The algorithm of limits that name none. */
export const DEFAULT_ALGORITHM = ALGORITHMS[0];

/** Most limits of a list. */
export const LIMITS_MAX = 8;

/** The limits of a rule: none, one or several. */
export function limitsOf({ rateLimit, rateLimits }: DescriptorModel): readonly RateLimitModel[] {
  return rateLimits ?? (rateLimit === undefined ? [] : [rateLimit]);
}

/** Returns true if a plain count decides a rule: at most one limit, a fixed window that counts rejected hits. */
export function isPlainCount([limit, ...others]: readonly RateLimitModel[]): boolean {
  if (limit === undefined) return true;
  return (
    others.length === 0 &&
    (limit.algorithm ?? DEFAULT_ALGORITHM) === DEFAULT_ALGORITHM &&
    limit.countRejectedHits !== false
  );
}
