// The checks of one key that one command answers, and the distribution of its reply to them.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import type { StoreError } from "../../store-error.ts";
import { KeyHash } from "../key-hash.ts";

/** One check and the call it belongs to. */
export interface PendingCheck {
  readonly check: CountedCheck;
  /** The check's addend, or 0 when it only reads. */
  readonly addend: number;
  readonly call: CountBatch;
}

/** All checks of one key that one command answers: the first, and more in order of arrival. */
export class KeyChecks implements PendingCheck {
  readonly check: CountedCheck;
  readonly addend: number;
  readonly call: CountBatch;
  /** Further checks; most keys have none. */
  more: PendingCheck[] | undefined = undefined;
  /** GET if true, INCRBY otherwise. */
  readonly isRead: boolean;
  /** The hashes of its key, of KeyHash. */
  readonly hash: number;
  readonly tag: number;
  /** The longest window of its checks. */
  windowSeconds: number;
  /** What is added; 0 for a read. */
  sum: number;
  /** Whether an EXPIRE follows the INCRBY. */
  sendsExpiry = false;

  constructor(check: CountedCheck, call: CountBatch, isRead: boolean, hash: number, tag: number) {
    this.check = check;
    this.addend = isRead ? 0 : check.addend;
    this.call = call;
    this.isRead = isRead;
    this.hash = hash;
    this.tag = tag;
    this.windowSeconds = check.windowSeconds;
    this.sum = this.addend;
  }

  get key(): string {
    return this.check.key;
  }

  /** Number of checks. */
  get size(): number {
    return this.more === undefined ? 1 : 1 + this.more.length;
  }

  /** Adds a further check. */
  join(check: CountedCheck, call: CountBatch, addend: number): void {
    this.sum += addend;
    if (check.windowSeconds > this.windowSeconds) this.windowSeconds = check.windowSeconds;
    (this.more ??= []).push({ check, addend, call });
  }

  /** Gives each check the count it would have seen alone, in order of arrival. */
  distribute(count: number): void {
    let after = count - this.sum + this.addend;
    this.check.after = after;
    finishOne(this.call);
    if (this.more === undefined) return;
    for (const { check, addend, call } of this.more) {
      after += addend;
      check.after = after;
      finishOne(call);
    }
  }

  /** Fails the calls of the checks, which are not sent again. */
  fail(error: StoreError): void {
    failCall(this.call, error);
    if (this.more !== undefined) for (const { call } of this.more) failCall(call, error);
  }
}

/** One check as the checks of its key. */
export function checksOf(check: CountedCheck, call: CountBatch, isRead: boolean): KeyChecks {
  const { hash, tag } = KeyHash.of(check.key);
  return new KeyChecks(check, call, isRead, hash, tag);
}

/** Fails a call that is not answered yet. */
export function failCall(call: CountBatch, error: StoreError): void {
  if (call.pending <= 0) return;
  call.pending = 0;
  call.failed(error);
}

/** A call without pending checks was answered before: it failed. */
function finishOne(call: CountBatch): void {
  if (call.pending <= 0) return;
  call.pending -= 1;
  if (call.pending === 0) call.counted();
}
