// One record per descriptor of a call: what is to be done for it, and in the end its status. It is
// counted and answered as it is, so that a decision needs one object per descriptor.
import type { CountedCheck } from "../counters/counter.ts";
import type { RuleLimit, RuleMatch } from "../rules/rule-set.ts";
import { type Code, type DescriptorStatus, OK } from "./decision.ts";

/** limitRemaining of unlimited rules: the largest unsigned 32-bit number. */
export const UNLIMITED_REMAINING = 4_294_967_295;

/**
 * A descriptor that nothing was counted for: it has no rule, another one of the call replaces it,
 * or the store has failed and the call is to pass.
 */
export interface UncountedCheck extends DescriptorStatus {
  readonly kind: "none";
  /** Whether its rule is a quota: then a quota of the call has passed. */
  readonly isQuota: boolean;
}

/** What is to be done for a descriptor. */
export type Check = UncountedCheck | UnlimitedCheck | LimitedCheck;

/** The check of every descriptor without a rule. */
export const NO_RULE: UncountedCheck = Object.freeze({
  kind: "none",
  isQuota: false,
  code: OK,
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilResetSeconds: undefined,
});

/** The check of every descriptor whose rule is a quota that could not be counted and is to pass. */
export const PASSED_QUOTA: UncountedCheck = Object.freeze({ ...NO_RULE, isQuota: true });

/** A descriptor whose rule is unlimited: OK, counted in the statistics only. */
export class UnlimitedCheck implements DescriptorStatus {
  readonly kind = "unlimited";
  readonly match: RuleMatch;
  readonly hits: number;
  readonly code = OK;
  readonly currentLimit = undefined;
  readonly limitRemaining = UNLIMITED_REMAINING;
  readonly durationUntilResetSeconds = undefined;

  constructor(match: RuleMatch, hits: number) {
    this.match = match;
    this.hits = hits;
  }
}

/**
 * What a status goes by: the count of the store, the local cache, or the failure mode because the
 * store has failed.
 */
export type DecidedBy = "count" | "local cache" | "failure mode";

/** A descriptor to count: the counter writes `after`, then `judge` writes the status. */
export class LimitedCheck implements CountedCheck, DescriptorStatus {
  readonly match: RuleMatch;
  readonly key: string;
  readonly windowStartSeconds: number;
  /** Hits of the call, which the statistics get. */
  readonly hits: number;
  /** What is added in the store: the hits, or 0 where the increment is withheld. */
  addend: number;
  after = 0;
  decidedBy: DecidedBy = "count";
  code: Code = OK;
  limitRemaining = 0;
  durationUntilResetSeconds = 0;

  constructor(match: RuleMatch, key: string, windowStartSeconds: number, hits: number) {
    this.match = match;
    this.key = key;
    this.windowStartSeconds = windowStartSeconds;
    this.hits = hits;
    this.addend = hits;
  }

  // eslint-disable-next-line @typescript-eslint/class-literal-property-style -- a field would cost every decision eight bytes for each descriptor
  get kind(): "limited" {
    return "limited";
  }

  get windowSeconds(): number {
    return this.match.rule.windowSeconds;
  }

  get currentLimit(): RuleLimit {
    return this.match.rule.limit;
  }
}
