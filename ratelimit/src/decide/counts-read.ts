// A read of the counters of some checks: a call that counts nothing and decides nothing.
import type { Attach } from "@weir/limits/rules/rule";
import type { Check, HitCounts, LimitedCheck } from "@weir/limits/classify/check";
import type { CountBatch, Counter } from "../counters/counter.ts";
import type { StoreError } from "../counters/store-error.ts";

/** Counts of no rule: a read makes no statistics of values. */
const UNUSED: HitCounts = {
  totalHits: 0,
  overLimit: 0,
  nearLimit: 0,
  overLimitWithLocalCache: 0,
  withinLimit: 0,
  shadowMode: 0,
  totalNegativeHits: 0,
};

/** Makes nothing. */
export const ATTACH_NOTHING: Attach<HitCounts> = { rule: () => UNUSED, dynamic: () => UNUSED };

/** Reads the counters of the checks; fails with StoreError. */
export async function readChecks(counter: Counter, checks: readonly Check[], deadlineMs: number): Promise<void> {
  const limited = checks.filter((check) => check.kind === "limited");
  if (limited.length === 0) return;
  const read = new CountsRead(limited, deadlineMs);
  counter.read(read);
  await read.answered;
}

class CountsRead implements CountBatch {
  readonly checks: readonly LimitedCheck[];
  readonly deadlineMs: number;
  pending = 0;
  readonly #answer = Promise.withResolvers<void>();

  constructor(checks: readonly LimitedCheck[], deadlineMs: number) {
    this.checks = checks;
    this.deadlineMs = deadlineMs;
  }

  get answered(): Promise<void> {
    return this.#answer.promise;
  }

  counted(): void {
    this.#answer.resolve();
  }

  failed(error: StoreError): void {
    this.#answer.reject(error);
  }
}
