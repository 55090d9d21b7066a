// The checks of one event-loop turn on their way to one server: merged by key, written together,
// and shared out again when the replies are in. It knows the order of commands and replies, but no
// connection.
import type { CountBatch, CountedCheck } from "../counter.ts";
import { StoreError } from "../store-error.ts";
import type { CommandSink, Reply } from "./command-sink.ts";
import type { ExpiryMemory } from "./expiry-memory.ts";
import { countIn } from "./stored-count.ts";

/** What a turn needs of its server. */
export interface TurnContext {
  readonly expiries: ExpiryMemory;
  /** Expiry of a key with a window of so many seconds, jitter included. */
  readonly expirySeconds: (windowSeconds: number) => number;
  /** Makes an error of a reply; the address is in its message. */
  readonly replyError: (cause: unknown) => StoreError;
  /**
   * Whether a reply says that its command was not carried out and may be sent again, here later or
   * elsewhere. Absent = none does.
   */
  readonly isRefusal?: (error: Error) => boolean;
}

/** One check and the call it belongs to. */
export interface PendingCheck {
  readonly check: CountedCheck;
  /** The check's addend, or 0 when it only reads. */
  readonly addend: number;
  readonly batch: CountBatch;
}

/** All checks of one key that one command answers. */
export interface KeyChecks {
  readonly key: string;
  /** GET if true, INCRBY otherwise. */
  readonly isRead: boolean;
  /** The longest window of its checks. */
  windowSeconds: number;
  /** What is added; 0 for a read. */
  sum: number;
  readonly first: PendingCheck;
  /** Further checks in order of arrival; most keys have none. */
  more: PendingCheck[] | undefined;
  /** Whether an EXPIRE follows the INCRBY. */
  sendsExpiry: boolean;
}

/** A key whose expiry has to be sent once more. */
export interface KeyExpiry {
  readonly key: string;
  readonly seconds: number;
  /** What the server refused it with; undefined where nothing says that it is the wrong one. */
  readonly refusal?: Error;
}

/** The checks of a key whose command the server refused without carrying it out. */
export interface RefusedChecks {
  readonly checks: KeyChecks;
  readonly error: Error;
}

/** What is left to do after the replies were shared out. */
export interface Leftovers {
  /** Keys without an expiry: the server had lost them, or refused it. */
  readonly expiries: readonly KeyExpiry[];
  /** Checks without an answer: see `isRefusal` of the context. */
  readonly refused: readonly RefusedChecks[];
}

/** The checks of one turn. */
export class Turn {
  /** When its first call came, in milliseconds since the epoch. */
  readonly createdMs: number;
  /**
   * Whether an ASKING goes before each command: a cluster node sent the checks here for this once.
   */
  readonly isAsking: boolean;
  /** The earliest moment at which one of its calls has to be answered. */
  nextDeadlineMs: number;
  /** Number of checks in it. */
  size = 0;
  /** Whether all its calls were failed; nothing of it is sent again. */
  isFailed = false;
  readonly #increments = new Map<string, KeyChecks>();
  /** Made when something is read: most turns only count. */
  #reads: Map<string, KeyChecks> | undefined;
  readonly #batches: CountBatch[] = [];

  constructor(createdMs: number, timeoutMs: number, isAsking = false) {
    this.createdMs = createdMs;
    this.nextDeadlineMs = createdMs + timeoutMs;
    this.isAsking = isAsking;
  }

  /**
   * Number of commands that answer its checks; an expiry is not counted apart from its increment.
   */
  get commands(): number {
    return this.#increments.size + (this.#reads?.size ?? 0);
  }

  /** Adds one check of a call; checks of a call come one after the other. */
  add(check: CountedCheck, batch: CountBatch): void {
    this.#putIncrement({ check, addend: check.addend, batch }, check.windowSeconds);
  }

  /**
   * Adds one check that only reads. It sees the increments that came before it in this turn, and
   * those alone.
   */
  read(check: CountedCheck, batch: CountBatch): void {
    const counted = this.#increments.get(check.key);
    const pending = { check, addend: 0, batch };
    if (counted === undefined) {
      this.#putRead(pending);
      return;
    }
    this.#note(batch);
    join(counted, pending, check.windowSeconds);
  }

  /** Adds checks that another turn was refused, in their order. */
  adopt({ isRead, windowSeconds, first, more }: KeyChecks): void {
    for (const pending of more === undefined ? [first] : [first, ...more]) {
      if (isRead) this.#putRead(pending);
      else this.#putIncrement(pending, windowSeconds);
    }
  }

  /**
   * Writes GET per key that is read, then INCRBY per key, in order of first arrival, each followed
   * by EXPIRE unless this process has sent one before.
   */
  write(sink: CommandSink, context: TurnContext): void {
    if (this.#reads !== undefined) {
      for (const key of this.#reads.keys()) {
        if (this.isAsking) sink.asking();
        sink.get(key);
      }
    }
    for (const increments of this.#increments.values()) {
      const { key, windowSeconds } = increments;
      if (this.isAsking) sink.asking();
      sink.incrby(key, increments.sum);
      increments.sendsExpiry = !context.expiries.covers(key, windowSeconds);
      if (!increments.sendsExpiry) continue;
      if (this.isAsking) sink.asking();
      sink.expire(key, context.expirySeconds(windowSeconds));
      context.expiries.add(key, windowSeconds);
    }
  }

  /** Shares out the replies to `write`, in its order. */
  settle(replies: readonly Reply[], context: TurnContext): Leftovers {
    let expiries: KeyExpiry[] | undefined;
    let refused: RefusedChecks[] | undefined;
    // A reply to ASKING stands before each of the others.
    const step = this.isAsking ? 2 : 1;
    let at = step - 1;
    if (this.#reads !== undefined) {
      for (const reads of this.#reads.values()) {
        const [error, value] = replies[at] ?? MISSING_REPLY;
        at += step;
        if (error !== null && context.isRefusal?.(error) === true) (refused ??= []).push({ checks: reads, error });
        else settleReads(reads, error ?? countIn(value), context);
      }
    }
    for (const increments of this.#increments.values()) {
      const [error, value] = replies[at] ?? MISSING_REPLY;
      at += step;
      const expiryError = increments.sendsExpiry ? (replies[at] ?? MISSING_REPLY)[0] : null;
      if (increments.sendsExpiry) at += step;
      if (error !== null || expiryError !== null) context.expiries.delete(increments.key);
      if (error !== null && context.isRefusal?.(error) === true) {
        (refused ??= []).push({ checks: increments, error });
      } else if (error !== null || typeof value !== "number") {
        failChecks(increments, context.replyError(error ?? new Error(`unexpected reply ${String(value)}`)));
      } else {
        if (needsExpiry(increments, value, expiryError, context)) {
          // Until an increment brings it along again: the one that is asked for here may be lost.
          context.expiries.delete(increments.key);
          const seconds = context.expirySeconds(increments.windowSeconds);
          (expiries ??= []).push({
            key: increments.key,
            seconds,
            ...(expiryError !== null && { refusal: expiryError }),
          });
        }
        shareOut(increments, value);
      }
    }
    return expiries === undefined && refused === undefined
      ? NOTHING_LEFT
      : { expiries: expiries ?? [], refused: refused ?? [] };
  }

  /** Fails every call that has no answer yet. */
  fail(error: StoreError, context: TurnContext): void {
    this.isFailed = true;
    for (const increments of this.#increments.values())
      if (increments.sendsExpiry) context.expiries.delete(increments.key);
    for (const batch of this.#batches) failBatch(batch, error);
  }

  /**
   * The expiries that `write` sent. Without replies nobody knows whether they were carried out, or
   * the increments before them.
   */
  sentExpiries(context: TurnContext): readonly KeyExpiry[] {
    const sent: KeyExpiry[] = [];
    for (const { key, windowSeconds, sendsExpiry } of this.#increments.values()) {
      if (sendsExpiry) sent.push({ key, seconds: context.expirySeconds(windowSeconds) });
    }
    return sent;
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

  #putIncrement(pending: PendingCheck, windowSeconds: number): void {
    const { addend, batch } = pending;
    const { key } = pending.check;
    this.#note(batch);
    const present = this.#increments.get(key);
    if (present !== undefined) join(present, pending, windowSeconds);
    else
      this.#increments.set(key, {
        key,
        isRead: false,
        windowSeconds,
        sum: addend,
        first: pending,
        more: undefined,
        sendsExpiry: false,
      });
  }

  #putRead(pending: PendingCheck): void {
    const { key, windowSeconds } = pending.check;
    this.#note(pending.batch);
    this.#reads ??= new Map();
    const present = this.#reads.get(key);
    if (present !== undefined) join(present, pending, windowSeconds);
    else
      this.#reads.set(key, {
        key,
        isRead: true,
        windowSeconds,
        sum: 0,
        first: pending,
        more: undefined,
        sendsExpiry: false,
      });
  }

  #note(batch: CountBatch): void {
    this.size += 1;
    if (this.#batches[this.#batches.length - 1] === batch) return;
    this.#batches.push(batch);
    if (batch.deadlineMs !== undefined && batch.deadlineMs < this.nextDeadlineMs)
      this.nextDeadlineMs = batch.deadlineMs;
  }
}

const MISSING_REPLY: Reply = [new Error("the reply is missing"), undefined];

const NOTHING_LEFT: Leftovers = { expiries: [], refused: [] };

/** Fails the calls of checks that nobody sends again. */
export function failChecks(checks: KeyChecks, error: StoreError): void {
  failBatch(checks.first.batch, error);
  if (checks.more !== undefined) for (const { batch } of checks.more) failBatch(batch, error);
}

/**
 * Whether the key has no expiry now: the one that was sent was refused by a server that is not the
 * right one, or the server had lost the key since.
 */
function needsExpiry(increments: KeyChecks, count: number, expiryError: Error | null, context: TurnContext): boolean {
  if (expiryError !== null) return context.isRefusal?.(expiryError) === true;
  // A count equal to the increment means that the key was new: evicted, flushed or failed over
  // since its expiry was sent.
  return !increments.sendsExpiry && count === increments.sum;
}

function settleReads(reads: KeyChecks, count: number | Error, context: TurnContext): void {
  if (typeof count === "number") shareOut(reads, count);
  else failChecks(reads, context.replyError(count));
}

/** Adds a further check to those of its key. */
function join(present: KeyChecks, pending: PendingCheck, windowSeconds: number): void {
  present.sum += pending.addend;
  if (windowSeconds > present.windowSeconds) present.windowSeconds = windowSeconds;
  (present.more ??= []).push(pending);
}

/** Gives each check the count it would have seen alone, in order of arrival. */
function shareOut({ sum, first, more }: KeyChecks, count: number): void {
  let after = count - sum + first.addend;
  first.check.after = after;
  finishOne(first.batch);
  if (more === undefined) return;
  for (const { check, addend, batch } of more) {
    after += addend;
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

function failBatch(batch: CountBatch, error: StoreError): void {
  if (batch.pending <= 0) return;
  batch.pending = 0;
  batch.failed(error);
}

function deadlineError(waitedMs: number, address: string): StoreError {
  const message = `Cannot count on ${address}: the caller's deadline passed after ${Math.round(waitedMs)} ms`;
  return new StoreError("DEADLINE_EXCEEDED", message, { transient: true });
}
