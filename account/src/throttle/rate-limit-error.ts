// Why the rate limit service did not decide.

/**
 * `deadline`: no answer in RATE_LIMIT_TIMEOUT. `unavailable`: no connection. `error`: the service
 * answered with another gRPC status. `invalid`: its answer is no decision.
 */
export type RateLimitErrorReason = "deadline" | "unavailable" | "error" | "invalid";

/** The service did not decide; throttle.ts applies RATE_LIMIT_FAILURE then. */
export class RateLimitError extends Error {
  override readonly name = "RateLimitError";
  readonly reason: RateLimitErrorReason;

  constructor(reason: RateLimitErrorReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
