// The answer for one descriptor of a request, free of any wire.
import type { RuleLimit } from "../model/rule-limit.ts";

/** OK: the number on the wire. */
export const OK = 1;

/** OVER_LIMIT: the number on the wire. */
export const OVER_LIMIT = 2;

/** OK or OVER_LIMIT, as the wire numbers them. */
export type Code = typeof OK | typeof OVER_LIMIT;

/** The answer for one descriptor. */
export interface DescriptorStatus {
  readonly code: Code;
  /**
   * The limit that was applied; undefined for a descriptor without a rule, with an unlimited or
   * replaced one, and when the backend failed.
   */
  readonly currentLimit: RuleLimit | undefined;
  /** Hits left in the window, 0 to 4294967295; the maximum means unlimited. */
  readonly limitRemaining: number;
  /**
   * Whole seconds until the window ends, at least 1; undefined whenever `currentLimit` is.
   */
  readonly durationUntilResetSeconds: number | undefined;
}
