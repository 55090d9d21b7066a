// The error of a user store that does not answer.
import { AccountError } from "../errors.ts";

/** Seconds after which callers are told to try again. */
const RETRY_AFTER_SECONDS = 2;

/**
 * The effect of a write that failed: none, now and later; or unknown, because it was sent and its
 * answer did not arrive.
 */
export type WriteOutcome = "not_applied" | "unknown";

/** Why a store cannot answer, as metrics count it. */
export const STORE_REASONS = [
  "not_connected",
  "no_answer",
  "breaker_open",
  "credentials",
  "index_missing",
  "rejected",
] as const;

/** One of {@link STORE_REASONS}. */
export type StoreReason = (typeof STORE_REASONS)[number];

/** Ends a call that a store could not answer; `cause` is for the log. */
export class StoreError extends AccountError {
  readonly outcome: WriteOutcome;
  readonly reason: StoreReason;

  constructor(outcome: WriteOutcome, cause: unknown, reason: StoreReason = "no_answer") {
    super("database_unavailable", "The service cannot reach its data right now. Try again in a moment.", {
      cause,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
    this.outcome = outcome;
    this.reason = reason;
  }
}
