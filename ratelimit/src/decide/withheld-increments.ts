// STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: which counters of a call are not incremented because
// another one of it is over its limit. Pure but for the checks.
import type { LimitedCheck } from "./check.ts";

/** Increments nothing: a key of the call is known to be over its limit. */
export function withholdAll(checks: readonly LimitedCheck[]): void {
  for (const check of checks) check.addend = 0;
}

/**
 * When any counter, as it was read into `after`, would go over its limit by the hits of the call,
 * increments only those that would. A rule in shadow mode withholds the increments of others as any
 * rule does, and a counter that is over goes on growing: so it is in the reference.
 */
export function withholdBesideOver(checks: readonly LimitedCheck[]): void {
  if (!checks.some(wouldBeOver)) return;
  for (const check of checks) if (!wouldBeOver(check)) check.addend = 0;
}

function wouldBeOver({ after, hits, match }: LimitedCheck): boolean {
  return after + hits > match.rule.limit.requestsPerUnit;
}
