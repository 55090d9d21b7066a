// The commands for the checks that arrive in one event-loop turn for one server: merged by key,
// written together; the replies are distributed to the checks.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { StoreError } from "../../store-error.ts";
import type { CommandSink, Reply } from "../connection/command-sink.ts";
import type { ExpiryCache } from "../expiry/expiry-cache.ts";
import { countIn } from "./stored-count.ts";

/** What a batch needs from its server. */
export interface BatchContext {
  readonly expiries: ExpiryCache;
  /** Expiry of a key with a window of so many seconds, jitter included. */
  readonly expirySeconds: (windowSeconds: number) => number;
  /** Makes an error of a reply; the address is in its message. */
  readonly replyError: (cause: unknown) => StoreError;
  /**
   * Whether a reply says that its command was not executed and may be sent again, later or to
   * another server. Absent = no reply does.
   */
  readonly isRefusal?: (error: Error) => boolean;
}

/** One check and the call it belongs to. */
export interface PendingCheck {
  readonly check: CountedCheck;
  /** The check's addend, or 0 when it only reads. */
  readonly addend: number;
  readonly call: CountBatch;
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
  /** The error that the server refused it with; undefined when it was not refused. */
  readonly refusal?: Error;
}

/** The checks of a key whose command the server refused without executing it. */
export interface RefusedChecks {
  readonly checks: KeyChecks;
  readonly error: Error;
}

/** What remains to be done after the replies were distributed. */
export interface Leftovers {
  /** Keys without an expiry: the server had lost them, or refused it. */
  readonly expiries: readonly KeyExpiry[];
  /** Checks without an answer: see `isRefusal` of the context. */
  readonly refused: readonly RefusedChecks[];
}

/** The checks of one event-loop turn for one server. */
export class CommandBatch {
  /** When its first call came, in milliseconds since the epoch. */
  readonly createdMs: number;
  /**
   * Whether each command is preceded by ASKING: a cluster node redirected the checks here once.
   */
  readonly isAsking: boolean;
  /** The earliest deadline of its calls, in milliseconds since the epoch. */
  nextDeadlineMs: number;
  /** Number of checks in it. */
  size = 0;
  /** Whether all its calls were failed; nothing in it is sent again. */
  isFailed = false;
  readonly #increments = new Map<string, KeyChecks>();
  /** Made when something is read: most batches only count. */
  #reads: Map<string, KeyChecks> | undefined;
  readonly #calls: CountBatch[] = [];

  constructor(createdMs: number, timeoutMs: number, isAsking = false) {
    this.createdMs = createdMs;
    this.nextDeadlineMs = createdMs + timeoutMs;
    this.isAsking = isAsking;
  }

  /**
   * Number of commands that answer its checks; an expiry counts together with its increment.
   */
  get commands(): number {
    return this.#increments.size + (this.#reads?.size ?? 0);
  }

  /** Adds one check of a call; the checks of a call are added one after the other. */
  add(check: CountedCheck, call: CountBatch): void {
    this.#putIncrement({ check, addend: check.addend, call }, check.windowSeconds);
  }

  /**
   * Adds one check that only reads. It sees the increments that came before it in this batch, and
   * those alone.
   */
  read(check: CountedCheck, call: CountBatch): void {
    const counted = this.#increments.get(check.key);
    const pending = { check, addend: 0, call };
    if (counted === undefined) {
      this.#putRead(pending);
      return;
    }
    this.#note(call);
    join(counted, pending, check.windowSeconds);
  }

  /** Adds checks that a server refused in another batch, in their order. */
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
  write(sink: CommandSink, context: BatchContext): void {
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

  /** Distributes the replies to `write`, which come in its order. */
  settle(replies: readonly Reply[], context: BatchContext): Leftovers {
    let expiries: KeyExpiry[] | undefined;
    let refused: RefusedChecks[] | undefined;
    // A reply to ASKING precedes each of the others.
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
          // The next increment of the key sends it again: the one requested here may be lost.
          context.expiries.delete(increments.key);
          const seconds = context.expirySeconds(increments.windowSeconds);
          (expiries ??= []).push({
            key: increments.key,
            seconds,
            ...(expiryError !== null && { refusal: expiryError }),
          });
        }
        distribute(increments, value);
      }
    }
    return expiries === undefined && refused === undefined
      ? NOTHING_LEFT
      : { expiries: expiries ?? [], refused: refused ?? [] };
  }

  /** Fails every call that has no answer yet. */
  fail(error: StoreError, context: BatchContext): void {
    this.isFailed = true;
    for (const increments of this.#increments.values())
      if (increments.sendsExpiry) context.expiries.delete(increments.key);
    for (const call of this.#calls) failCall(call, error);
  }

  /**
   * The expiries that `write` sent. Without replies it is unknown whether they, or the increments
   * before them, were executed.
   */
  sentExpiries(context: BatchContext): readonly KeyExpiry[] {
    const sent: KeyExpiry[] = [];
    for (const { key, windowSeconds, sendsExpiry } of this.#increments.values()) {
      if (sendsExpiry) sent.push({ key, seconds: context.expirySeconds(windowSeconds) });
    }
    return sent;
  }

  /** Fails the calls whose deadline has passed, and updates `nextDeadlineMs`. */
  failImpatient(nowMs: number, timeoutMs: number, address: string): void {
    let next = this.createdMs + timeoutMs;
    for (const call of this.#calls) {
      const { deadlineMs } = call;
      if (deadlineMs === undefined || call.pending <= 0) continue;
      if (deadlineMs <= nowMs) failCall(call, deadlineError(nowMs - this.createdMs, address));
      else if (deadlineMs < next) next = deadlineMs;
    }
    this.nextDeadlineMs = next;
  }

  #putIncrement(pending: PendingCheck, windowSeconds: number): void {
    const { addend, call } = pending;
    const { key } = pending.check;
    this.#note(call);
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
    this.#note(pending.call);
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

  #note(call: CountBatch): void {
    this.size += 1;
    if (this.#calls[this.#calls.length - 1] === call) return;
    this.#calls.push(call);
    if (call.deadlineMs !== undefined && call.deadlineMs < this.nextDeadlineMs) this.nextDeadlineMs = call.deadlineMs;
  }
}

const MISSING_REPLY: Reply = [new Error("the reply is missing"), undefined];

const NOTHING_LEFT: Leftovers = { expiries: [], refused: [] };

/** Fails the calls of checks that are not sent again. */
export function failChecks(checks: KeyChecks, error: StoreError): void {
  failCall(checks.first.call, error);
  if (checks.more !== undefined) for (const { call } of checks.more) failCall(call, error);
}

/**
 * Whether the key has no expiry: a server that does not own the key refused it, or the server has
 * lost the key since it was sent.
 */
function needsExpiry(increments: KeyChecks, count: number, expiryError: Error | null, context: BatchContext): boolean {
  if (expiryError !== null) return context.isRefusal?.(expiryError) === true;
  // A count equal to the increment means that the key was new: it was evicted, flushed or lost in a
  // failover since its expiry was sent.
  return !increments.sendsExpiry && count === increments.sum;
}

function settleReads(reads: KeyChecks, count: number | Error, context: BatchContext): void {
  if (typeof count === "number") distribute(reads, count);
  else failChecks(reads, context.replyError(count));
}

/** Adds a further check to those of its key. */
function join(present: KeyChecks, pending: PendingCheck, windowSeconds: number): void {
  present.sum += pending.addend;
  if (windowSeconds > present.windowSeconds) present.windowSeconds = windowSeconds;
  (present.more ??= []).push(pending);
}

/** Gives each check the count it would have seen alone, in order of arrival. */
function distribute({ sum, first, more }: KeyChecks, count: number): void {
  let after = count - sum + first.addend;
  first.check.after = after;
  finishOne(first.call);
  if (more === undefined) return;
  for (const { check, addend, call } of more) {
    after += addend;
    check.after = after;
    finishOne(call);
  }
}

/** A call without pending checks was answered before: it failed. */
function finishOne(call: CountBatch): void {
  if (call.pending <= 0) return;
  call.pending -= 1;
  if (call.pending === 0) call.counted();
}

function failCall(call: CountBatch, error: StoreError): void {
  if (call.pending <= 0) return;
  call.pending = 0;
  call.failed(error);
}

function deadlineError(waitedMs: number, address: string): StoreError {
  const message = `Cannot count on ${address}: the caller's deadline passed after ${Math.round(waitedMs)} ms`;
  return new StoreError("DEADLINE_EXCEEDED", message, { transient: true });
}
