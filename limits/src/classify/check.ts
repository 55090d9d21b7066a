// One record per descriptor of a call: first what to count, in the end its status. The same object
// is counted and answered, so a decision needs one object per descriptor.
import type { CellRule, CellState } from "../cell/cell.ts";
import type { RuleLimit } from "../model/rule-limit.ts";
import type { RuleMatch } from "../rules/rule.ts";
import type { CalendarWindow } from "../window/calendar.ts";
import { secondsUntilReset } from "../window/window.ts";
import { type LimitCount, windowCount } from "./limit-count.ts";
import { type Code, type DescriptorStatus, OK } from "./status.ts";

/** Hits of a rule by how they were classified. Whole numbers that only grow. */
export interface HitCounts {
  totalHits: number;
  overLimit: number;
  nearLimit: number;
  overLimitWithLocalCache: number;
  withinLimit: number;
  shadowMode: number;
  totalNegativeHits: number;
}

/** A rule found for a descriptor, with the counts to add its hits to. */
export type CountedMatch = RuleMatch<HitCounts>;

/** limitRemaining of unlimited rules: the largest unsigned 32-bit number. */
export const UNLIMITED_REMAINING = 4_294_967_295;

/**
 * A descriptor without a count: it has no rule, another rule of the call replaces its rule, or the
 * store failed and the call passes.
 */
export interface UncountedCheck extends DescriptorStatus {
  readonly kind: "none";
  /** True if its rule is a quota; then a quota of the call has passed. */
  readonly isQuota: boolean;
}

/** The record of a descriptor. */
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

/** The check of every descriptor whose rule is a quota that could not be counted and passes. */
export const PASSED_QUOTA: UncountedCheck = Object.freeze({ ...NO_RULE, isQuota: true });

/** A descriptor whose rule is unlimited: OK, its hits are counted, but not in the store. */
export class UnlimitedCheck implements DescriptorStatus {
  readonly kind = "unlimited";
  readonly match: CountedMatch;
  readonly hits: number;
  readonly code = OK;
  readonly currentLimit = undefined;
  readonly limitRemaining = UNLIMITED_REMAINING;
  readonly durationUntilResetSeconds = undefined;

  constructor(match: CountedMatch, hits: number) {
    this.match = match;
    this.hits = hits;
  }
}

/**
 * The basis of a status: the count of the store, the local cache, or the failure mode because
 * the store failed.
 */
export type DecidedBy = "count" | "local cache" | "failure mode";

/** The part of a check whose limits are in a cell. */
export interface CellPart {
  readonly rule: CellRule;
  /** Time of the call in milliseconds since the epoch; by the clock of the store once that has counted. */
  readonly nowMs: number;
  /**
   * Takes the result of the store: whether this call passes, and the state after it at that moment. `isExact`, by
   * default true, is false where the state may include hits of other calls that are being rejected.
   */
  settle(passes: boolean, state: CellState, nowMs: number, isExact?: boolean): void;
  /** Writes the status in place of `classify`; returns whether a limit is over. */
  classify(nearLimitRatio: number): boolean;
}

/** A descriptor to count: the store's count goes into `after`, then `classify` writes the status. */
export class LimitedCheck implements DescriptorStatus {
  readonly match: CountedMatch;
  readonly key: string;
  readonly windowStartSeconds: number;
  /** Hits of the call for this descriptor; below 0 it is a refund, which gives hits back. */
  readonly hits: number;
  /** The amount to add in the store: the hits, or 0 where the increment is withheld. */
  addend: number;
  after = 0;
  decidedBy: DecidedBy = "count";
  code: Code = OK;
  limitRemaining = 0;
  durationUntilResetSeconds = 0;

  constructor(match: CountedMatch, key: string, windowStartSeconds: number, hits: number) {
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

  /** The same check when its limits are in a cell. */
  get cell(): CellPart | undefined {
    return undefined;
  }

  get windowSeconds(): number {
    return this.match.rule.windowSeconds;
  }

  get currentLimit(): RuleLimit {
    return this.match.rule.limit;
  }

  /** Whole seconds until the window ends, at least 1. */
  secondsUntilReset(nowSeconds: number): number {
    return secondsUntilReset(nowSeconds, this.windowSeconds);
  }

  /** Seconds for which a key that is over its limit stays over it; longer where the key is of its window alone. */
  cacheSeconds(_nowSeconds: number): number {
    return this.windowSeconds;
  }

  /** Returns true if the hits of the call go over the limit, from what was read of the counter. */
  wouldBeOver(): boolean {
    return this.hits >= 0 && this.after + this.hits > this.match.rule.limit.requestsPerUnit;
  }

  /** The counts of its limits, once a store has read them. */
  counts(nowSeconds: number): readonly LimitCount[] {
    return [windowCount(this.currentLimit, this.after, this.secondsUntilReset(nowSeconds))];
  }
}

/** The same in a window of the calendar. */
export class CalendarCheck extends LimitedCheck {
  readonly #endSeconds: number;
  readonly #maxSeconds: number;

  /** `maxSeconds` is that of the calendar windows. */
  constructor(match: CountedMatch, key: string, window: CalendarWindow, maxSeconds: number, hits: number) {
    super(match, key, window.startSeconds, hits);
    this.#endSeconds = window.endSeconds;
    this.#maxSeconds = maxSeconds;
  }

  /** The longest that a window can be: how long its counter has to live. */
  override get windowSeconds(): number {
    return this.#maxSeconds;
  }

  override secondsUntilReset(nowSeconds: number): number {
    return Math.max(1, this.#endSeconds - nowSeconds);
  }
}
