// The metrics of throttling, every series present at zero from the start.
import { Counter, type Registry } from "prom-client";
import { type LimitedRoute, LIMITS } from "../throttle/limits.ts";
import type { RateLimitErrorReason } from "../throttle/rate-limit-error.ts";
import type { DecidedBy, ThrottleEvents } from "../throttle/throttle.ts";

const ROUTES = Object.keys(LIMITS) as LimitedRoute[];
const DECIDED_BY: readonly DecidedBy[] = ["service", "local", "failure_mode"];
const REASONS: readonly RateLimitErrorReason[] = ["deadline", "unavailable", "error", "invalid"];

/** Registers them. */
export function createThrottleMetrics(registry: Registry): ThrottleEvents {
  const registers = [registry];
  const decisions = new Counter({
    name: "ratelimit_decisions_total",
    help: "Decisions about calls that are limited: by the rate limit service, this process, or RATE_LIMIT_FAILURE alone. A login has two.",
    labelNames: ["route", "decided_by", "decision"],
    registers,
  });
  const errors = new Counter({
    name: "ratelimit_errors_total",
    help: "Calls of the rate limit service without a decision, by reason.",
    labelNames: ["reason"],
    registers,
  });
  for (const route of ROUTES)
    for (const by of DECIDED_BY)
      for (const decision of ["allowed", "denied"]) decisions.inc({ route, decided_by: by, decision }, 0);
  for (const reason of REASONS) errors.inc({ reason }, 0);
  return {
    decided: (route, by, isAllowed) =>
      decisions.inc({ route, decided_by: by, decision: isAllowed ? "allowed" : "denied" }),
    failed: (reason) => errors.inc({ reason }),
  };
}
