// The commands for the checks that arrive in one event-loop turn for one server: merged by key,
// written together. The batch itself receives the replies and distributes them to the checks.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { StoreError } from "../../store-error.ts";
import type { CommandBuffer } from "../connection/command-buffer.ts";
import type { Reply, ReplyReceiver } from "../connection/reply.ts";
import type { ExpiryCache, KeyExpiry } from "../expiry/expiry-cache.ts";
import type { CellCommands } from "./cell-commands.ts";
import { failCall, KeyChecks } from "./key-checks.ts";
import type { KeyMerger } from "./key-merger.ts";
import { countIn } from "./stored-count.ts";

/** The parts of its server that a batch needs. */
export interface BatchContext {
  readonly merger: KeyMerger;
  readonly expiries: ExpiryCache;
  readonly cells: CellCommands;
  /** Expiry of a key with a window of so many seconds, jitter included. */
  readonly expirySeconds: (windowSeconds: number) => number;
  /** Makes an error of a reply; the address is in its message. */
  readonly replyError: (cause: unknown) => StoreError;
  /**
   * Returns true if a reply says that its command was not executed and may be sent again, later or
   * to another server. Absent = no reply does.
   */
  readonly isRefusal?: (error: Error) => boolean;
  /** Called with the batch after the last reply. */
  readonly completed: (batch: CommandBatch) => void;
  /** Called with the batch instead when its connection has ended. */
  readonly lost: (batch: CommandBatch) => void;
}

/** The checks of a key whose command the server refused without executing it. */
export interface RefusedChecks {
  readonly checks: KeyChecks;
  readonly error: Error;
}

/** The checks of one event-loop turn for one server. */
export class CommandBatch implements ReplyReceiver {
  /** When its first call came. */
  readonly createdMs: number;
  /**
   * True if each command is preceded by ASKING: a cluster node redirected the checks here once.
   */
  readonly isAsking: boolean;
  /** The earliest deadline of its calls. */
  nextDeadlineMs: number;
  /** Number of checks in it. */
  size = 0;
  /** Number of replies; set by `write`. */
  replies = 0;
  /** True if all its calls were failed; nothing in it is sent again. */
  isFailed = false;
  /** Keys without an expiry, after the replies: the server had lost them, or refused it. */
  expiries: KeyExpiry[] | undefined = undefined;
  /** Checks without an answer, after the replies: see `isRefusal` of the context. */
  refused: RefusedChecks[] | undefined = undefined;
  /** Checks in order of arrival; they are merged by key when the batch is written. */
  readonly #pending: KeyChecks[] = [];
  /** The keys of the batch; only where the number of commands is limited. */
  readonly #keys: Set<string> | undefined;
  /** The checks that were written, merged by key: GET, INCRBY, a refund or the cell script for each. */
  #commands: readonly KeyChecks[] = [];
  #context: BatchContext | undefined = undefined;
  /** The position of the command whose reply is next, or that of its EXPIRE. */
  #next = 0;
  #isExpiryNext = false;
  /** True if the increment before the EXPIRE was executed. */
  #wasCounted = false;
  #isAskingNext: boolean;

  constructor(
    createdMs: number,
    timeoutMs: number,
    {
      isAsking = false,
      countsCommands = false,
    }: { readonly isAsking?: boolean; readonly countsCommands?: boolean } = {},
  ) {
    this.createdMs = createdMs;
    this.nextDeadlineMs = createdMs + timeoutMs;
    this.isAsking = isAsking;
    this.#isAskingNext = isAsking;
    if (countsCommands) this.#keys = new Set();
  }

  /**
   * Number of commands that answer its checks, an expiry counted with its increment; 0 unless
   * `countsCommands`.
   */
  get commands(): number {
    return this.#keys?.size ?? 0;
  }

  add(check: CountedCheck, call: CountBatch): void {
    this.#put(new KeyChecks(check, call, false));
  }

  /**
   * Adds one check that only reads. It sees the increments that came before it in this batch, and
   * those alone.
   */
  read(check: CountedCheck, call: CountBatch): void {
    this.#put(new KeyChecks(check, call, true));
  }

  /** Adds the checks of a key that a server refused in another batch. */
  adopt(checks: KeyChecks): void {
    for (let each: KeyChecks | undefined = checks; each !== undefined; each = each.next)
      this.#put(new KeyChecks(each.check, each.call, each.isRead));
  }

  /**
   * Writes INCRBY, GET, a refund or the cell script per key, in order of first arrival; an INCRBY is
   * followed by EXPIRE unless this process has sent one before.
   */
  write(buffer: CommandBuffer, context: BatchContext): void {
    this.#context = context;
    const commands = context.merger.merge(this.#pending);
    this.#commands = commands;
    let replies = commands.length;
    for (const checks of commands) {
      const { check, keyBytes, windowSeconds } = checks;
      if (this.isAsking) buffer.asking();
      if (check.cell !== undefined) {
        context.cells.write(buffer, checks, check.cell, this.createdMs);
        continue;
      }
      if (checks.isRead) {
        buffer.get(check.key, keyBytes);
        continue;
      }
      if (checks.isRefund) {
        buffer.refund(check.key, keyBytes, -checks.sum);
        continue;
      }
      buffer.incrby(check.key, keyBytes, checks.sum);
      if (context.expiries.covers(checks, windowSeconds)) continue;
      checks.sendsExpiry = true;
      replies += 1;
      if (this.isAsking) buffer.asking();
      buffer.expire(check.key, keyBytes, context.expirySeconds(windowSeconds));
      context.expiries.add(checks, windowSeconds);
    }
    this.replies = this.isAsking ? 2 * replies : replies;
  }

  receive(reply: Reply): void {
    if (this.isAsking) {
      this.#isAskingNext = !this.#isAskingNext;
      if (!this.#isAskingNext) return; // The reply to ASKING.
    }
    const checks = this.#commands[this.#next];
    if (checks === undefined) return;
    if (this.#isExpiryNext) {
      this.#isExpiryNext = false;
      this.#next += 1;
      if (reply instanceof Error) this.#expiryRefused(checks, reply);
      return;
    }
    if (checks.sendsExpiry) {
      this.#isExpiryNext = true;
      this.#wasCounted = typeof reply === "number";
    } else {
      this.#next += 1;
    }
    if (typeof reply !== "number" || checks.isRead) {
      this.#receiveOther(checks, reply);
      return;
    }
    // A count equal to the increment means that the key was new: it was evicted, flushed or lost in
    // a failover since its expiry was sent.
    if (reply === checks.sum && !checks.sendsExpiry) this.#requestExpiry(checks);
    checks.distribute(reply);
  }

  completed(): void {
    this.#context?.completed(this);
  }

  lost(): void {
    this.#context?.lost(this);
  }

  /** Fails every call that has no answer yet. */
  fail(error: StoreError): void {
    this.isFailed = true;
    for (const checks of this.#commands) if (checks.sendsExpiry) this.#context?.expiries.delete(checks);
    for (const { call } of this.#pending) failCall(call, error);
  }

  /**
   * The expiries that have no reply. It is unknown whether they, or the increments before them,
   * were executed.
   */
  unansweredExpiries(): readonly KeyExpiry[] {
    const context = this.#context;
    if (context === undefined) return [];
    return this.#commands
      .slice(this.#next)
      .filter(({ sendsExpiry }) => sendsExpiry)
      .map(({ key, windowSeconds }) => ({ key, seconds: context.expirySeconds(windowSeconds) }));
  }

  /**
   * The expiry of its first key; undefined before it is written. The script sets that of a cell itself: there it is of
   * a key that does not exist.
   */
  get firstExpiry(): KeyExpiry | undefined {
    const [checks] = this.#commands;
    if (checks === undefined || this.#context === undefined) return undefined;
    const { key, windowSeconds } = checks;
    if (checks.check.cell !== undefined) return { key: `${key}~`, seconds: 1 };
    return { key, seconds: this.#context.expirySeconds(windowSeconds) };
  }

  /** Fails the calls whose deadline has passed, and updates `nextDeadlineMs`. */
  failImpatient(nowMs: number, timeoutMs: number, address: string): void {
    let next = this.createdMs + timeoutMs;
    let error: StoreError | undefined; // One for all: a stack trace for each call would cost more than counting it.
    for (const { call } of this.#pending) {
      const { deadlineMs } = call;
      if (deadlineMs === undefined || call.pending <= 0) continue;
      if (deadlineMs <= nowMs) failCall(call, (error ??= deadlineError(nowMs - this.createdMs, address)));
      else if (deadlineMs < next) next = deadlineMs;
    }
    this.nextDeadlineMs = next;
  }

  #note(call: CountBatch): void {
    this.size += 1;
    if (call.deadlineMs !== undefined && call.deadlineMs < this.nextDeadlineMs) this.nextDeadlineMs = call.deadlineMs;
  }

  #put(checks: KeyChecks): void {
    this.#note(checks.call);
    this.#pending.push(checks);
    this.#keys?.add(checks.check.key);
  }

  /** Takes the reply to GET and to a refund, and all that are no count. */
  #receiveOther(checks: KeyChecks, reply: Reply): void {
    const context = this.#context;
    if (context === undefined) return;
    const { cell } = checks.check;
    if (cell !== undefined && !(reply instanceof Error)) {
      if (!context.cells.receive(checks, cell, reply)) checks.fail(context.replyError(new Error("unexpected reply")));
      return;
    }
    const isStored = checks.isRead || checks.isRefund;
    const count = isStored && !(reply instanceof Error) ? countIn(reply) : reply;
    if (typeof count === "number") {
      if (checks.isRefund) checks.distributeRefund(count);
      else checks.distribute(count);
      return;
    }
    if (!isStored && cell === undefined) context.expiries.delete(checks);
    const error = count instanceof Error ? count : new Error(`unexpected reply ${String(count)}`);
    if (reply instanceof Error && context.isRefusal?.(error) === true) (this.refused ??= []).push({ checks, error });
    else checks.fail(context.replyError(error));
  }

  #expiryRefused(checks: KeyChecks, refusal: Error): void {
    const context = this.#context;
    context?.expiries.delete(checks); // So that the next increment of the key sends it again.
    if (this.#wasCounted && context?.isRefusal?.(refusal) === true) this.#requestExpiry(checks, refusal);
  }

  #requestExpiry(checks: KeyChecks, refusal?: Error): void {
    const context = this.#context;
    if (context === undefined) return;
    // The next increment of the key sends it again, too: the one requested here may be lost.
    context.expiries.delete(checks);
    const { key, windowSeconds } = checks;
    const seconds = context.expirySeconds(windowSeconds);
    (this.expiries ??= []).push({ key, seconds, ...(refusal !== undefined && { refusal }) });
  }
}

function deadlineError(waitedMs: number, address: string): StoreError {
  const message = `Cannot count on ${address}: the caller's deadline passed after ${Math.round(waitedMs)} ms`;
  return new StoreError("DEADLINE_EXCEEDED", message, { transient: true });
}
