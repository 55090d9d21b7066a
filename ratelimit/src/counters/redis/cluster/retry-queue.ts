// Checks that no node can execute now: they are sent again after a moment, within the time limit of
// their calls. Their number is bounded.
import { timerDelayMs } from "@weir/common/timers/timer-delay";

import type { StoreError } from "../../store-error.ts";
import { replyError } from "../store-errors.ts";
import { CommandBatch } from "../batch/command-batch.ts";
import type { KeyChecks } from "../batch/key-checks.ts";

/** Wait before checks are sent again, in milliseconds; as in envoyproxy/ratelimit. */
const WAIT_MS = 100;

/** Most checks that wait; each keeps a call of some hundred bytes in memory. */
const MAX_CHECKS = 100_000;

export interface RetryQueueDeps {
  /** Sends checks again; their calls have waited since `createdMs`. */
  readonly send: (checks: readonly KeyChecks[], createdMs: number) => void;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** Limits of the queue. */
export interface RetryQueueOptions {
  /** Longest time of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** The cluster, for messages. */
  readonly text: string;
}

/** Checks that were added together. */
interface QueuedChecks {
  readonly checks: readonly KeyChecks[];
  /** The same checks; knows the deadlines of their calls. */
  readonly batch: CommandBatch;
  readonly dueMs: number;
  /** Why they wait. */
  readonly cause: Error;
}

/** The checks that wait, oldest first. */
export class RetryQueue {
  readonly #deps: RetryQueueDeps;
  readonly #options: RetryQueueOptions;
  #queue: QueuedChecks[] = [];
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Infinity;
  #closed: StoreError | undefined;

  constructor(deps: RetryQueueDeps, options: RetryQueueOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Number of checks that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds checks whose calls have waited since `createdMs`; `cause` is why their calls fail if
   * nothing changes in time.
   */
  add(checks: readonly KeyChecks[], createdMs: number, cause: Error): void {
    const error = this.#closed ?? (this.#size >= MAX_CHECKS ? replyError(this.#options.text, cause) : undefined);
    if (error !== undefined) {
      for (const each of checks) each.fail(error);
      return;
    }
    const batch = new CommandBatch(createdMs, this.#options.timeoutMs);
    for (const each of checks) batch.adopt(each);
    const dueMs = this.#deps.monotonicMs() + WAIT_MS;
    this.#queue.push({ checks, batch, dueMs, cause });
    this.#size += batch.size;
    this.#setTimer(Math.min(dueMs, batch.nextDeadlineMs));
  }

  /** Fails the checks in the queue, and those that are added from now on. */
  close(error: StoreError): void {
    this.#closed = error;
    clearTimeout(this.#timer);
    for (const { checks } of this.#queue) for (const each of checks) each.fail(error);
    this.#queue = [];
    this.#size = 0;
  }

  #setTimer(atMs: number): void {
    if (atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => this.#look(), timerDelayMs(atMs, this.#deps.monotonicMs()));
  }

  /** Fails the calls whose time is up, and sends again what has waited long enough. */
  #look(): void {
    const nowMs = this.#deps.monotonicMs();
    const { timeoutMs, text } = this.#options;
    const due: QueuedChecks[] = [];
    const rest: QueuedChecks[] = [];
    this.#timerMs = Infinity;
    for (const queued of this.#queue) {
      const { batch, checks, cause, dueMs } = queued;
      if (nowMs >= batch.createdMs + timeoutMs) {
        for (const each of checks) each.fail(replyError(text, cause));
        continue;
      }
      batch.failImpatient(nowMs, timeoutMs, text);
      if (nowMs >= dueMs) due.push(queued);
      else rest.push(queued);
    }
    this.#queue = rest;
    this.#size = rest.reduce((sum, { batch }) => sum + batch.size, 0);
    for (const { batch, dueMs } of rest) this.#setTimer(Math.min(dueMs, batch.nextDeadlineMs));
    for (const { checks, batch } of due) this.#deps.send(checks, batch.createdMs);
  }
}
