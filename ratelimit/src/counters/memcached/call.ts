// One call while its counts are being read: the only object that a call needs in addition to its own.
import type { CountBatch, CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";

/** Answers calls. */
export interface CallOwner {
  /** Called once every check was read or cannot be read. */
  finish(call: Call): void;
}

/** A call. Checks count from zero until they are read, so that it can be answered at any moment. */
export class Call {
  readonly batch: CountBatch;
  /** When it has to be answered, by the clock of the counter that only goes forward. */
  readonly dueMs: number;
  /** Why a check could not be read: the first reason. */
  error: StoreError | undefined;
  /** Different keys that exist. */
  found = 0;
  /** Written by the owner. */
  isAnswered = false;
  /** True if nothing is added. */
  readonly isRead: boolean;
  readonly #owner: CallOwner;
  #pending: number;

  constructor(owner: CallOwner, batch: CountBatch, { dueMs, isRead }: Pick<Call, "dueMs" | "isRead">) {
    this.#owner = owner;
    this.batch = batch;
    this.dueMs = dueMs;
    this.isRead = isRead;
    this.#pending = batch.checks.length;
    for (const check of batch.checks) check.after = isRead ? 0 : Math.max(0, check.addend);
  }

  /** Sets the count of a check: `before` is its count without this call. */
  read(check: CountedCheck, before: number): void {
    if (this.isAnswered) return;
    const addend = this.isRead ? 0 : check.addend;
    check.after = Math.max(0, Math.min(before + addend, Number.MAX_SAFE_INTEGER));
    this.#settle();
  }

  /** Notes that a check cannot be read. */
  unread(error: StoreError): void {
    if (this.isAnswered) return;
    this.error ??= error;
    this.#settle();
  }

  #settle(): void {
    this.#pending -= 1;
    if (this.#pending === 0) this.#owner.finish(this);
  }
}
