// Checks in cells for tests of counters, and what each of them was answered.
import { type CellRule, type CellState, roomIn } from "@weir/limits/cell/cell";
import { cellRuleOf } from "@weir/limits/cell/cell-rule";
import { limit } from "@weir/limits/rules/configuration.suite";
import type { CountBatch, CountedCheck, Counter } from "./counter.ts";
import type { StoreError } from "./store-error.ts";

/** A bucket of so many hits that leaks as many in a window. */
export function bucketRule(requests: number, windowSeconds: number): CellRule {
  return cellRule(requests, windowSeconds, "token_bucket");
}

/** Limits of so many hits in a window, one for each algorithm. */
export function cellRule(requests: number, windowSeconds: number, ...algorithms: readonly string[]): CellRule {
  const limits = algorithms.map((algorithm) => ({
    model: limit(requests, "second", { algorithm }),
    limit: { requestsPerUnit: requests, unit: 1, name: "" },
    windowSeconds,
    calendar: undefined,
  }));
  const rule = cellRuleOf(limits);
  if (rule === undefined) throw new Error("The limits must have a cell");
  return rule;
}

/** Which cell a call counts in, when, and its hits. */
export interface CellCallOptions {
  readonly key: string;
  readonly nowMs: number;
  readonly hits: number;
}

/** One check in a cell, counted once. */
export class CountedCellOnce implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs = undefined;
  pending = 0;
  passes = false;
  state: CellState = [];
  /** The moment of the state. */
  nowMs = 0;
  readonly #rule: CellRule;
  readonly #answered = Promise.withResolvers<void>();

  constructor(rule: CellRule, { key, nowMs, hits }: CellCallOptions) {
    this.#rule = rule;
    const settle = (passes: boolean, state: CellState, settledMs: number): void => {
      this.passes = passes;
      this.state = [...state];
      this.nowMs = settledMs;
    };
    const cell = { rule, nowMs, settle };
    this.checks = [
      { key: `${key}${rule.keyEnd}`, windowStartSeconds: 0, windowSeconds: 60, addend: hits, after: 0, cell },
    ];
  }

  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  /** Hits that the first limit has room for. */
  get room(): number {
    const [limit] = this.#rule.limits;
    return limit === undefined ? 0 : roomIn(limit, this.state, 0, this.nowMs);
  }

  counted(): void {
    this.#answered.resolve();
  }

  failed(error: StoreError): void {
    this.#answered.reject(error);
  }
}

/** Counts in a cell and waits for the answer; rejects with the error of a store that fails. */
export async function countCell(counter: Counter, rule: CellRule, call: CellCallOptions): Promise<CountedCellOnce> {
  const counted = new CountedCellOnce(rule, call);
  counter.count(counted);
  await counted.answered;
  return counted;
}
