// Decides whether a request may proceed: by the rate limit service, and without its answer or a limit of
// it as RATE_LIMIT_FAILURE says.
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { AccountError } from "../errors.ts";
import type { CircuitBreaker } from "@weir/common/backoff/circuit-breaker";
import type { LimitCheck, LimitDecision, LimitedRoute } from "./limits.ts";
import type { LocalLimiter } from "./local-limiter.ts";
import type { RateLimitAnswer, RateLimitClient } from "./rate-limit-client.ts";
import { RateLimitError, type RateLimitErrorReason } from "./rate-limit-error.ts";

/** Shortest time between two lines about the same event, in milliseconds. */
const LOG_INTERVAL_MS = 10_000;

/** Retry-After while nothing can decide, in seconds. */
const UNAVAILABLE_RETRY_SECONDS = 5;

/** The decision when the service makes none, or has no limit: by limits of this process, or alike for all requests. */
export type FailureMode = "local" | "open" | "closed";

/** The source of a decision: the service, this process, or RATE_LIMIT_FAILURE alone. */
export type DecidedBy = "service" | "local" | "failure_mode";

/** Listens to decisions; its methods must not throw. */
export interface ThrottleEvents {
  /** A check was decided. */
  decided(route: LimitedRoute, by: DecidedBy, isAllowed: boolean): void;
  /** The service did not decide. */
  failed(reason: RateLimitErrorReason): void;
}

type LimitClient = Pick<RateLimitClient, "ask" | "connect">;

/** The dependencies. */
export interface ThrottleDeps {
  /** Undefined: no service is configured. It has no client before it is started. */
  readonly service: { readonly client: () => LimitClient | undefined; readonly breaker: CircuitBreaker } | undefined;
  readonly local: Pick<LocalLimiter, "decide">;
  readonly events: ThrottleEvents;
  readonly log: Log;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** Decides about checks. */
export class Throttle {
  readonly #deps: ThrottleDeps;
  readonly #failure: FailureMode;
  /** About the service; it is reset when the service decides again. */
  readonly #failureLog: RateLimitedLog;
  readonly #log: RateLimitedLog;

  constructor(deps: ThrottleDeps, { failure }: { readonly failure: FailureMode }) {
    this.#deps = deps;
    this.#failure = failure;
    this.#failureLog = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS, monotonicMs: deps.monotonicMs });
    this.#log = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS, monotonicMs: deps.monotonicMs });
  }

  /**
   * Counts the request and decides about it: RATE_LIMIT_FAILURE applies without an answer of the
   * service, and to descriptors for which it has no limit. Rejects with `rate_limit_unavailable` when
   * nothing decides and RATE_LIMIT_FAILURE is `closed`.
   */
  async decide(check: LimitCheck): Promise<LimitDecision> {
    const answer = await this.#askService(check);
    if (answer === undefined) return this.#decideAlone(check);
    const { decision, unknownKeys } = answer;
    if (!decision.isAllowed || unknownKeys.length === 0) return this.#note(check, "service", decision);
    const unknown = check.entries.filter(({ key }) => unknownKeys.includes(key));
    return { ...this.#decideAlone({ ...check, entries: unknown }), headers: decision.headers };
  }

  /** Decides about what the service does not. */
  #decideAlone(check: LimitCheck): LimitDecision {
    switch (this.#failure) {
      case "local":
        return this.#note(check, "local", this.#deps.local.decide(check));
      case "open":
        return this.#note(check, "failure_mode", { isAllowed: true, headers: [] });
      case "closed":
        this.#deps.events.decided(check.route, "failure_mode", false);
        throw new AccountError("rate_limit_unavailable", "The service cannot take this call now. Try again shortly.", {
          retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
        });
    }
  }

  /** Undefined when the service does not decide. */
  async #askService(check: LimitCheck): Promise<RateLimitAnswer | undefined> {
    const { service } = this.#deps;
    const client = service?.client();
    if (service === undefined || client === undefined || !service.breaker.mayCall()) return undefined;
    try {
      const answer = await client.ask(check);
      service.breaker.succeeded();
      this.#failureLog.recovered("The rate limit service decides again", {});
      for (const key of answer.unknownKeys)
        this.#log.warn(
          "The rate limit service has no limit for a descriptor",
          { route: check.route, key, failure: this.#failure },
          `no ${key}`,
        );
      return answer;
    } catch (error) {
      const reason = error instanceof RateLimitError ? error.reason : "error";
      this.#deps.events.failed(reason);
      const fields = { reason: describeError(error), failure: this.#failure };
      this.#failureLog.warn("The rate limit service does not decide", fields, reason);
      if (service.breaker.failed()) this.#reconnect(client);
      return undefined;
    }
  }

  /** A connection that is silent may be dead, which nothing else finds out for minutes. */
  #reconnect(client: LimitClient): void {
    try {
      client.connect();
    } catch (error) {
      this.#failureLog.warn("Cannot connect to the rate limit service", { error }); // Its TLS files; the old ones stay.
    }
  }

  /** Counts the decision, and logs a refusal; many of one kind are one line. */
  #note(check: LimitCheck, by: DecidedBy, decision: LimitDecision): LimitDecision {
    const { route, group } = check;
    this.#deps.events.decided(route, by, decision.isAllowed);
    if (!decision.isAllowed) {
      const fields = { route, limit: decision.key, addressPrefix: group.address, decidedBy: by };
      this.#log.warn("Request over its limit", fields, `${route} ${decision.key}`);
    }
    return decision;
  }
}
