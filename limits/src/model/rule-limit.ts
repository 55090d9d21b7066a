// A limit in the terms of the wire.

/**
 * A limit as the answer contains it. `unit` is the wire number (SECOND 1 … WEEK 7), 0 for unlimited
 * rules.
 */
export interface RuleLimit {
  readonly requestsPerUnit: number;
  readonly unit: number;
  /** Units in a window; absent means 1. */
  readonly unitMultiplier?: number;
  /** `rate_limit.name`, or "". */
  readonly name: string;
}
