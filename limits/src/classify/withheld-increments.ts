// STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: withholds increments of a call when one of its counters
// is over its limit.
import type { LimitedCheck } from "./check.ts";

/** Increments no counter: the local cache has a key of the call. */
export function withholdAll(checks: readonly LimitedCheck[]): void {
  for (const check of checks) check.addend = 0;
}

/**
 * When any counter, as it was read into `after`, would go over its limit by the hits of the call,
 * increments only those that would. As in envoyproxy/ratelimit, a rule in shadow mode withholds
 * the increments of others too, and a counter that is over keeps growing.
 */
export function withholdWhenOver(checks: readonly LimitedCheck[]): void {
  if (!checks.some(wouldBeOver)) return;
  for (const check of checks) if (!wouldBeOver(check)) check.addend = 0;
}

function wouldBeOver({ after, hits, match }: LimitedCheck): boolean {
  return after + hits > match.rule.limit.requestsPerUnit;
}
