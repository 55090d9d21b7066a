// The checks of one key that one command answers, and the distribution of its reply to them.
import { CELL_NUMBERS } from "@weir/limits/cell/cell";
import type { CountBatch, CountedCheck } from "../../counter.ts";
import type { StoreError } from "../../store-error.ts";

/** Which number of a limit in the state of a cell is that of its hits. */
const HITS_OF_LIMIT = 1;

/**
 * One check of a call, and the further checks of its key that the same command answers: a chain in
 * order of arrival. Fields of the whole chain, such as `sum`, are those of the first check.
 */
export class KeyChecks {
  readonly check: CountedCheck;
  readonly call: CountBatch;
  /** The check's addend, or 0 when it only reads; below 0 it is a refund, or hits that are taken back. */
  readonly addend: number;
  /** GET if true, INCRBY otherwise. */
  readonly isRead: boolean;
  /** The hash of its key in two parts of 32 bits, undefined for long keys; see KeyMerger. */
  hash = 0;
  tag: number | undefined = undefined;
  /** Bytes of its key in UTF-8; set by KeyMerger. */
  keyBytes = 0;
  /** The longest window of the chain. */
  windowSeconds: number;
  /** The sum of the hits that the chain adds; below 0 it takes hits away. */
  sum: number;
  /** True if an EXPIRE follows the INCRBY. */
  sendsExpiry = false;
  /** The next check of the chain; most chains end with the first. */
  next: KeyChecks | undefined = undefined;
  #last: KeyChecks = this;

  constructor(check: CountedCheck, call: CountBatch, isRead: boolean) {
    const addend = isRead ? 0 : check.addend;
    this.check = check;
    this.call = call;
    this.addend = addend;
    this.isRead = isRead;
    this.windowSeconds = check.windowSeconds;
    this.sum = addend;
  }

  get key(): string {
    return this.check.key;
  }

  /** True if the chain gives hits back, with possible reads in between. */
  get isRefund(): boolean {
    return this.addend < 0 && this.check.isTakenBack !== true;
  }

  /** Number of checks in the chain. */
  get calls(): number {
    let calls = 1;
    for (let each = this.next; each !== undefined; each = each.next) calls += 1;
    return calls;
  }

  /** Returns true if a later check can be at the end of the chain: the same command answers both. */
  joins(other: KeyChecks): boolean {
    const { cell } = this.check;
    // A cell counts equal calls; what is given back may stop at 0 in between.
    if (cell !== undefined)
      return other.check.cell?.rule === cell.rule && other.addend === this.addend && this.addend >= 0;
    return other.isRead || (!this.isRead && other.isRefund === this.isRefund);
  }

  /** Adds a later check to the end of the chain. */
  join(other: KeyChecks): void {
    this.#last.next = other;
    this.#last = other;
    this.sum += other.addend;
    if (other.windowSeconds > this.windowSeconds) this.windowSeconds = other.windowSeconds;
  }

  /** Gives each check the count it would have seen alone. */
  distribute(count: number): void {
    let after = count - this.sum + this.addend;
    this.check.after = after;
    finishOne(this.call);
    for (let each = this.next; each !== undefined; each = each.next) {
      after += each.addend;
      each.check.after = after;
      finishOne(each.call);
    }
  }

  /** The same for a refund, from the count before it: nothing is taken away below 0. */
  distributeRefund(before: number): void {
    let after = Math.max(0, before + this.addend);
    this.check.after = after;
    finishOne(this.call);
    for (let each = this.next; each !== undefined; each = each.next) {
      after = Math.max(0, after + each.addend);
      each.check.after = after;
      finishOne(each.call);
    }
  }

  /**
   * Gives each check of a cell the state it would have seen alone, of which `passing` pass, from that after all
   * of them.
   */
  distributeCell(passing: number, state: number[], nowMs: number): void {
    if (this.next === undefined) {
      this.check.cell?.settle(passing > 0, state, nowMs);
      finishOne(this.call);
      return;
    }
    const { addend, calls } = this;
    const counted = this.check.cell?.rule.countsRejected === true ? calls : passing;
    const settle = ({ check, call }: KeyChecks, number: number): void => {
      const later = addend * Math.max(0, counted - number);
      const own = state.map((value, index) => (index % CELL_NUMBERS === HITS_OF_LIMIT ? value - later : value));
      check.cell?.settle(number <= passing, own, nowMs);
      finishOne(call);
    };
    let number = 1;
    settle(this, number);
    for (let each = this.next as KeyChecks | undefined; each !== undefined; each = each.next)
      settle(each, (number += 1));
  }

  /** Fails the calls of the checks. */
  fail(error: StoreError): void {
    failCall(this.call, error);
    for (let each = this.next; each !== undefined; each = each.next) failCall(each.call, error);
  }
}

/** Fails a call that is not answered yet. */
export function failCall(call: CountBatch, error: StoreError): void {
  if (call.pending <= 0) return;
  call.pending = 0;
  call.failed(error);
}

/** A call without pending checks was answered before: it failed. */
export function finishOne(call: CountBatch): void {
  if (call.pending <= 0) return;
  call.pending -= 1;
  if (call.pending === 0) call.counted();
}
