// The answer to a rate limit request, free of any wire: transports encode it and change nothing.
import type { JsonObject } from "@bufbuild/protobuf";

/** OK: the number on the wire. */
export const OK = 1;

/** OVER_LIMIT: the number on the wire. */
export const OVER_LIMIT = 2;

/** OK or OVER_LIMIT, as the wire numbers them. */
export type Code = typeof OK | typeof OVER_LIMIT;

/**
 * The whole answer. It belongs to the transport once `decided` was called; the decider does not
 * keep it.
 */
export interface Decision {
  /** What the caller has to obey; global shadow mode and quota mode are already in it. */
  readonly overallCode: Code;
  /** One per descriptor of the request, in its order. */
  readonly statuses: readonly DescriptorStatus[];
  /**
   * Response headers to add, in this order; undefined when the feature is off or no descriptor has
   * a limit.
   */
  readonly headers: readonly HeaderToAdd[] | undefined;
  /** Dynamic metadata as JSON of a protobuf Struct; undefined when the feature is off. */
  readonly dynamicMetadata: JsonObject | undefined;
}

/** A response header; names keep the letter case of the setting. */
export interface HeaderToAdd {
  readonly key: string;
  readonly value: string;
}

/** The answer for one descriptor. */
export interface DescriptorStatus {
  readonly code: Code;
  /**
   * Absent for a descriptor without a rule, with an unlimited or replaced one, and when the backend
   * failed.
   */
  readonly currentLimit: CurrentLimit | undefined;
  /** Hits left in the window, 0 to 4294967295; the maximum means unlimited. */
  readonly limitRemaining: number;
  /** Whole seconds until the window ends, at least 1; absent whenever `currentLimit` is. */
  readonly durationUntilResetSeconds: number | undefined;
}

/** The limit that was applied. */
export interface CurrentLimit {
  readonly requestsPerUnit: number;
  /** The wire number of the unit: SECOND 1, MINUTE 2, HOUR 3, DAY 4, MONTH 5, YEAR 6, WEEK 7. */
  readonly unit: number;
  /** `rate_limit.name` of the rule, or "". */
  readonly name: string;
}
