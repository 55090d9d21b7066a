// Fields of requests that this service does not support: multipliers that make a window longer than
// ten years, and hits to give back to limits that do not count what they reject, or in a store that cannot give back.
// They are ignored, but counted and logged, or the call is rejected.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";

import type { Counter } from "../counters/counter.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import { DecideError, type UnsupportedFieldsMode } from "./decider.ts";
import type { LimitOverride, Rule } from "@weir/limits/rules/rule";
import { unitOfNumber, windowSecondsOf } from "@weir/limits/model/unit";
import type { RateLimitRequest } from "./request.ts";

/** Shortest time between two log lines about the same field, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** Longest domain in a log line, in characters. */
const DOMAIN_MAX = 200;

/** A field, by its name in the protobuf message. */
type UnsupportedField = keyof ServiceStatistics["unsupportedFields"];

/** The reason for the caller of a call that is rejected. */
const REJECTION: Readonly<Record<UnsupportedField, string>> = {
  is_negative_hits: "a rate limit must count rejected hits (count_rejected_hits) for hits to be given back",
  unit_multiplier: "rate limit override must not have a window longer than ten years, its unit_multiplier is too large",
};

/** The same where no limit gives hits back. */
const NO_REFUNDS = "hits cannot be given back without scripts (LIMIT_SCRIPTS=off)";

/** Dependencies of the check. `monotonicMs` is a clock that only goes forward. */
export interface UnsupportedFieldsDeps {
  readonly statistics: ServiceStatistics;
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly counter: Pick<Counter, "givesBack">;
}

/** Checks requests for the fields. */
export class UnsupportedFields {
  readonly #counters: ServiceStatistics["unsupportedFields"];
  readonly #warnings: RateLimitedLog;
  readonly #mode: UnsupportedFieldsMode;
  readonly #givesBack: boolean;

  constructor({ statistics, monotonicMs, log, counter }: UnsupportedFieldsDeps, mode: UnsupportedFieldsMode) {
    this.#counters = statistics.unsupportedFields;
    this.#warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS, monotonicMs });
    this.#mode = mode;
    this.#givesBack = counter.givesBack ?? true;
  }

  /** Counts each of the fields that the request has; the error when they are not to be ignored. */
  check(request: RateLimitRequest): DecideError | undefined {
    for (const { limit } of request.descriptors)
      if (limit?.unitMultiplier !== undefined && limit.unitMultiplier > 1 && isTooLong(limit, limit.unitMultiplier))
        return this.#note("unit_multiplier", request.domain);
    return undefined;
  }

  /**
   * Counts hits to give back to a rule that does not count what it rejects, or in a store without scripts; the error
   * when they are not to be ignored.
   */
  checkRefund({ cell }: Rule, hits: number, domain: string): DecideError | undefined {
    if (hits >= 0) return undefined;
    if (!this.#givesBack) return this.#note("is_negative_hits", domain, NO_REFUNDS);
    if (cell === undefined || cell.countsRejected) return undefined;
    return this.#note("is_negative_hits", domain);
  }

  #note(field: UnsupportedField, domain: string, rejection = REJECTION[field]): DecideError | undefined {
    this.#counters[field].add(1);
    if (this.#mode === "error") return new DecideError("REQUEST_INVALID", rejection);
    this.#warnings.warn("Ignored a field that is not supported", { field, domain: domain.slice(0, DOMAIN_MAX) }, field);
    return undefined;
  }
}

function isTooLong({ unit }: LimitOverride, multiplier: number): boolean {
  const known = unitOfNumber(unit);
  return known !== undefined && windowSecondsOf(known, multiplier) === undefined;
}
