// The increments of one event-loop turn on their way to one server: merged by key, written together, and shared out again when the replies are in. It
// knows the order of commands and replies, but no connection.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { StoreError } from "../../store-error.ts";
import type { ExpiryMemory } from "./expiry-memory.ts";

/** Takes commands in order; a pipeline of the client library. */
export interface CommandSink {
  /** Adds to the number at the key; the reply is the sum. */
  incrby(key: string, increment: number): unknown;
  /** Lets the key live for so many seconds from now. */
  expire(key: string, seconds: number): unknown;
}

/** One reply: an error, or a value. */
export type Reply = readonly [error: Error | null, value: unknown];

/** What a turn needs of its server. */
export interface TurnContext {
  readonly expiries: ExpiryMemory;
  /** Expiry of a key with a window of so many seconds, jitter included. */
  readonly expirySeconds: (windowSeconds: number) => number;
  /** Makes an error of a reply; the address is in its message. */
  readonly replyError: (cause: unknown) => StoreError;
}

/** One check and the call it belongs to. */
interface Increment {
  readonly check: CountedCheck;
  readonly batch: CountBatch;
}

/** All increments of one key. */
interface KeyIncrements {
  readonly key: string;
  /** The longest window of its increments. */
  windowSeconds: number;
  sum: number;
  readonly first: Increment;
  /** Further increments in order of arrival; most keys have none. */
  more: Increment[] | undefined;
  /** Whether an EXPIRE follows the INCRBY. */
  sendsExpiry: boolean;
}

/** The increments of one turn. */
export class Turn {
  /** When its first call came, in milliseconds since the epoch. */
  readonly createdMs: number;
  /** The earliest moment at which one of its calls has to be answered. */
  nextDeadlineMs: number;
  /** Number of checks in it. */
  size = 0;
  readonly #keys = new Map<string, KeyIncrements>();
  readonly #batches: CountBatch[] = [];

  constructor(createdMs: number, timeoutMs: number) {
    this.createdMs = createdMs;
    this.nextDeadlineMs = createdMs + timeoutMs;
  }

  /** Adds one check of a call; checks of a call come one after the other. */
  add(check: CountedCheck, batch: CountBatch): void {
    this.size += 1;
    if (this.#batches[this.#batches.length - 1] !== batch) this.#batches.push(batch);
    if (batch.deadlineMs !== undefined && batch.deadlineMs < this.nextDeadlineMs) this.nextDeadlineMs = batch.deadlineMs;
    const present = this.#keys.get(check.key);
    if (present === undefined) {
      const { key, windowSeconds, addend } = check;
      this.#keys.set(key, { key, windowSeconds, sum: addend, first: { check, batch }, more: undefined, sendsExpiry: false });
    } else {
      present.sum += check.addend;
      if (check.windowSeconds > present.windowSeconds) present.windowSeconds = check.windowSeconds;
      (present.more ??= []).push({ check, batch });
    }
  }

  /** Writes INCRBY per key, in order of first arrival, each followed by EXPIRE unless this process has sent one before. */
  write(sink: CommandSink, context: TurnContext): void {
    for (const increments of this.#keys.values()) {
      const { key, windowSeconds } = increments;
      sink.incrby(key, increments.sum);
      increments.sendsExpiry = !context.expiries.covers(key, windowSeconds);
      if (!increments.sendsExpiry) continue;
      sink.expire(key, context.expirySeconds(windowSeconds));
      context.expiries.add(key, windowSeconds);
    }
  }

  /** Shares out the replies to `write`, in its order. Returns the keys that need another EXPIRE, because the server had lost them. */
  settle(replies: readonly Reply[], context: TurnContext): readonly KeyExpiry[] {
    const lost: KeyExpiry[] = [];
    let at = 0;
    for (const increments of this.#keys.values()) {
      const [error, value] = replies[at++] ?? MISSING_REPLY;
      const hasExpiryFailed = increments.sendsExpiry && (replies[at++] ?? MISSING_REPLY)[0] !== null;
      if (error !== null || hasExpiryFailed) context.expiries.delete(increments.key);
      if (error !== null || typeof value !== "number") {
        failIncrements(increments, context.replyError(error ?? new Error(`unexpected reply ${String(value)}`)));
        continue;
      }
      // A count equal to the increment means that the key was new: evicted, flushed or failed over since its expiry was sent.
      if (!increments.sendsExpiry && value === increments.sum) {
        lost.push({ key: increments.key, seconds: context.expirySeconds(increments.windowSeconds) });
      }
      shareOut(increments, value);
    }
    return lost;
  }

  /** Fails every call that has no answer yet. */
  fail(error: StoreError, context: TurnContext): void {
    for (const increments of this.#keys.values()) if (increments.sendsExpiry) context.expiries.delete(increments.key);
    for (const batch of this.#batches) failBatch(batch, error);
  }

  /** Fails the calls whose callers stop waiting now, and finds the next moment to look. */
  failImpatient(nowMs: number, timeoutMs: number, address: string): void {
    let next = this.createdMs + timeoutMs;
    for (const batch of this.#batches) {
      const { deadlineMs } = batch;
      if (deadlineMs === undefined || batch.pending <= 0) continue;
      if (deadlineMs <= nowMs) failBatch(batch, deadlineError(nowMs - this.createdMs, address));
      else if (deadlineMs < next) next = deadlineMs;
    }
    this.nextDeadlineMs = next;
  }
}

/** A key whose expiry has to be sent once more. */
export interface KeyExpiry {
  readonly key: string;
  readonly seconds: number;
}

const MISSING_REPLY: Reply = [new Error("the reply is missing"), undefined];

/** Gives each increment the count it would have seen alone, in order of arrival. */
function shareOut(increments: KeyIncrements, count: number): void {
  let after = count - increments.sum + increments.first.check.addend;
  increments.first.check.after = after;
  finishOne(increments.first.batch);
  if (increments.more === undefined) return;
  for (const { check, batch } of increments.more) {
    after += check.addend;
    check.after = after;
    finishOne(batch);
  }
}

/** A batch without pending checks was answered before: it failed. */
function finishOne(batch: CountBatch): void {
  if (batch.pending <= 0) return;
  batch.pending -= 1;
  if (batch.pending === 0) batch.counted();
}

function failIncrements(increments: KeyIncrements, error: StoreError): void {
  failBatch(increments.first.batch, error);
  if (increments.more !== undefined) for (const { batch } of increments.more) failBatch(batch, error);
}

function failBatch(batch: CountBatch, error: StoreError): void {
  if (batch.pending <= 0) return;
  batch.pending = 0;
  batch.failed(error);
}

function deadlineError(waitedMs: number, address: string): StoreError {
  const message = `Cannot count on ${address}: the caller's deadline passed after ${Math.round(waitedMs)} ms`;
  return new StoreError("DEADLINE_EXCEEDED", message, { transient: true });
}
