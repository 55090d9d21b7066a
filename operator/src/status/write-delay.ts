// Decides when a computed status is written: changes of conditions immediately, counts in intervals, and
// what is over within moments, as a rule, not at all. Pure.
import { isDeepStrictEqual } from "node:util";

import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";

import type { ComputedStatus } from "./status-of.ts";

/** Shortest time between two writes of one object that change only numbers of pods, in milliseconds. */
const COUNTS_INTERVAL_MS = 3000;

/**
 * How long a status is held that only waits for answers, in milliseconds: every replica answers or is silent
 * within ten seconds, and one write is enough.
 */
const AWAITED_MS = 11_000;

/** How long of that it waits for pods once the replicas have answered, in milliseconds: pods take a fraction. */
const AWAITED_PODS_MS = 2000;

/** The same for rules that the validator refuses: only whether an earlier form is enforced is open. */
const REFUSED_MS = 500;

/** What is known of earlier writes of an object. */
export interface WriteHistory {
  /** When it was last written; undefined: not by this process. By a clock that only goes forward. */
  readonly writtenMs: number | undefined;
  /** Since when its status has waited for answers; undefined: it does not. */
  readonly awaitsSinceMs: number | undefined;
  /** Since when it has waited for nothing but answers of pods; undefined: it does not. */
  readonly awaitsPodsSinceMs: number | undefined;
}

/** What a status is compared with, and how long it may wait. */
export interface WriteContext {
  readonly previous: RateLimitConfigStatus | undefined;
  readonly history: WriteHistory;
}

/**
 * Milliseconds until the status is due: 0 is now, undefined is never, because it is written already.
 * `nowMs` is by the clock of the history.
 */
export function writeDelayMs(
  { status, awaits }: ComputedStatus,
  { previous, history }: WriteContext,
  nowMs: number,
): number | undefined {
  if (previous !== undefined && isDeepStrictEqual(status, previous)) return undefined;
  if (awaits !== undefined) {
    const isRefused = status.conditions?.some(({ reason }) => reason === "InvalidSpec") === true;
    const untilMs = (history.awaitsSinceMs ?? nowMs) + (isRefused ? REFUSED_MS : AWAITED_MS);
    const podsUntilMs = awaits === "pods" ? (history.awaitsPodsSinceMs ?? nowMs) + AWAITED_PODS_MS : Infinity;
    const leftMs = Math.min(untilMs, podsUntilMs) - nowMs;
    if (leftMs > 0) return leftMs;
  }
  if (previous === undefined || !isDeepStrictEqual(withoutCounts(status), withoutCounts(previous))) return 0;
  const leftMs = (history.writtenMs ?? -Infinity) + COUNTS_INTERVAL_MS - nowMs;
  return Math.max(leftMs, 0);
}

/** Without what follows from numbers of pods. */
function withoutCounts({ pods: _pods, fleets, conditions, ...rest }: RateLimitConfigStatus): unknown {
  return {
    ...rest,
    fleets: fleets?.map(({ name, version }) => ({ name, version })),
    conditions: conditions?.map(({ message: _message, ...condition }) => condition),
  };
}
