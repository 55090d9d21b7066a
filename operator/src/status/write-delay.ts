// Decides when a computed status is written: changes of conditions immediately, counts in intervals, and
// what is over within moments, as a rule, not at all. Pure.
import { isDeepStrictEqual } from "node:util";

import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";

import type { ComputedStatus } from "./status-of.ts";

/**
 * Shortest time between two writes of one object that change only numbers of pods, in milliseconds: each time
 * twice as long while one follows the other, because a pod may come and go without end.
 */
const COUNTS_INTERVAL_MS = { initial: 3000, max: 60_000 } as const;

/**
 * How long a status is held that only waits for answers, in milliseconds: every replica answers or is silent
 * within ten seconds, and one write is enough.
 */
const AWAITED_MS = 11_000;

/** How long of that it waits for pods once the replicas have answered, in milliseconds: pods take a fraction. */
const AWAITED_PODS_MS = 2000;

/**
 * How long the loss of connections is held of pods that have enforced these rules, in milliseconds: within 15
 * seconds they notice that a control plane is gone, and connect to another.
 */
const RECONNECT_MS = 20_000;

/** The same as AWAITED_MS for rules that the validator refuses: only whether an earlier revision is enforced is open. */
const REFUSED_MS = 500;

/** The history of the writes of an object. */
export interface WriteHistory {
  /** When it was last written; undefined: not by this process. By a clock that only goes forward. */
  readonly writtenMs: number | undefined;
  /** Shortest time from that to a write of counts alone, in milliseconds; undefined: the shortest of all. */
  readonly countsIntervalMs: number | undefined;
  /** Since when its status has waited for answers; undefined: it does not. */
  readonly awaitsSinceMs: number | undefined;
  /** Since when it has waited for nothing but answers of pods; undefined: it does not. */
  readonly awaitsPodsSinceMs: number | undefined;
}

/** The status that a new one is compared with, and the history that decides how long it may wait. */
export interface WriteContext {
  readonly previous: RateLimitConfigStatus | undefined;
  readonly history: WriteHistory;
}

export interface DueWrite {
  /** Milliseconds until it is due: 0 is now. */
  readonly afterMs: number;
  /** True if it changes only numbers of pods. */
  readonly isCountsOnly: boolean;
}

/** When the status is due; undefined is never, because it is written already. `nowMs` is by the clock of the history. */
export function dueWrite(
  { status, awaits }: ComputedStatus,
  { previous, history }: WriteContext,
  nowMs: number,
): DueWrite | undefined {
  if (previous !== undefined && isDeepStrictEqual(status, previous)) return undefined;
  const isCountsOnly = previous !== undefined && isDeepStrictEqual(withoutCounts(status), withoutCounts(previous));
  const heldMs = awaits === undefined ? 0 : heldUntilMs(status, awaits, history, nowMs) - nowMs;
  if (heldMs > 0) return { afterMs: heldMs, isCountsOnly };
  if (!isCountsOnly) return { afterMs: 0, isCountsOnly };
  const { writtenMs = -Infinity, countsIntervalMs = COUNTS_INTERVAL_MS.initial } = history;
  return { afterMs: Math.max(writtenMs + countsIntervalMs - nowMs, 0), isCountsOnly };
}

/** The interval after a write of counts at `nowMs`. */
export function nextCountsIntervalMs({ writtenMs, countsIntervalMs }: WriteHistory, nowMs: number): number {
  const { initial, max } = COUNTS_INTERVAL_MS;
  const lastMs = countsIntervalMs ?? initial;
  const isRow = writtenMs !== undefined && nowMs - writtenMs < 2 * lastMs;
  return isRow ? Math.min(2 * lastMs, max) : initial;
}

function heldUntilMs(
  status: RateLimitConfigStatus,
  awaits: NonNullable<ComputedStatus["awaits"]>,
  { awaitsSinceMs, awaitsPodsSinceMs }: WriteHistory,
  nowMs: number,
): number {
  const sinceMs = awaitsSinceMs ?? nowMs;
  if (awaits === "connections") return sinceMs + RECONNECT_MS;
  const isRefused = status.conditions?.some(({ reason }) => reason === "InvalidSpec") === true;
  const untilMs = sinceMs + (isRefused ? REFUSED_MS : AWAITED_MS);
  return awaits === "pods" ? Math.min(untilMs, (awaitsPodsSinceMs ?? nowMs) + AWAITED_PODS_MS) : untilMs;
}

/** Without what follows from numbers of pods. */
function withoutCounts({ pods: _pods, fleets, conditions, ...rest }: RateLimitConfigStatus): unknown {
  return {
    ...rest,
    fleets: fleets?.map(({ name, version }) => ({ name, version })),
    conditions: conditions?.map(({ message: _message, ...condition }) => condition),
  };
}
