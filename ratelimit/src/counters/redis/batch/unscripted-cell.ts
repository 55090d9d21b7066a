// One check in a cell on a server that runs no scripts (LIMIT_SCRIPTS=off): increments and reads of plain counters,
// and increments below 0 that take back what does not fit.
import type { CellRule } from "@weir/limits/cell/cell";
import { countersAt, decideByCounts } from "@weir/limits/cell/plain-counters";
import type { CountBatch, CountedCell, CountedCheck } from "../../counter.ts";
import type { StoreError } from "../../store-error.ts";
import type { Deployment } from "../deployment.ts";
import { failCall, finishOne } from "./key-checks.ts";

/** The call that a check is of, and how it is counted. */
export interface UnscriptedCall {
  readonly batch: CountBatch;
  /** True if it only reads. */
  readonly isRead: boolean;
  /** The clock of the deployment. */
  readonly monotonicMs: () => number;
}

/** Counts a check of a call in a cell. */
export function countUnscripted(deployment: Deployment, check: CountedCheck, call: UnscriptedCall): void {
  if (check.cell === undefined) throw new Error(`The check of ${check.key} has no cell`);
  new UnscriptedCell(deployment, check, check.cell, call).send();
}

/** The commands of one check: for its deployment it is a call of its own. */
class UnscriptedCell implements CountBatch {
  readonly checks: readonly CountedCheck[];
  /** None, so that hits which were added and do not fit are taken back also when the call was answered before. */
  readonly deadlineMs = undefined;
  pending: number;
  readonly #deployment: Deployment;
  readonly #cell: CountedCell;
  readonly #call: UnscriptedCall;
  /** Of the call; 0 when it asks. */
  readonly #hits: number;
  /** True if the hits are added before it is known that they fit. */
  readonly #adds: boolean;
  /** By limit: the counter of its window, and that of the window before if it has one. */
  readonly #current: CountedCheck[] = [];
  readonly #before: (CountedCheck | undefined)[] = [];

  constructor(deployment: Deployment, check: CountedCheck, cell: CountedCell, call: UnscriptedCall) {
    const { rule, nowMs } = cell;
    this.#deployment = deployment;
    this.#cell = cell;
    this.#call = call;
    this.#hits = call.isRead ? 0 : Math.max(0, check.addend);
    this.#adds = this.#hits > 0 && (rule.countsRejected || !neverFit(rule, this.#hits));
    for (const [index, limit] of rule.limits.entries()) {
      const { keyEnd, keyEndBefore, lifetimeSeconds } = countersAt(limit, index, nowMs);
      this.#current.push(counterOf(check, keyEnd, lifetimeSeconds, this.#adds ? this.#hits : 0));
      this.#before.push(keyEndBefore === undefined ? undefined : counterOf(check, keyEndBefore, lifetimeSeconds, 0));
    }
    this.checks = [...this.#before.filter((each) => each !== undefined), ...this.#current];
    this.pending = this.checks.length;
  }

  send(): void {
    const nowMs = this.#call.monotonicMs();
    for (const { key } of this.checks) {
      const refusal = this.#deployment.refusal(nowMs, key);
      if (refusal === undefined) continue;
      this.failed(refusal);
      return;
    }
    for (const check of this.checks) {
      if (this.pending <= 0) return; // The deployment has failed it.
      if (check.addend === 0) this.#deployment.read(check, this, nowMs);
      else this.#deployment.add(check, this, nowMs);
    }
  }

  counted(): void {
    const { rule, nowMs } = this.#cell;
    const added = this.#adds ? this.#hits : 0;
    const counts = this.#current.map(({ after }, index) => ({
      hits: after - added,
      before: this.#before[index]?.after ?? 0,
    }));
    const { passes, state } = decideByCounts(rule, counts, { nowMs, hits: this.#hits });
    if (this.#adds && !passes && !rule.countsRejected) this.#takeBack();
    this.#cell.settle(passes, state, nowMs, false);
    finishOne(this.#call.batch);
  }

  failed(error: StoreError): void {
    failCall(this.#call.batch, error);
  }

  #takeBack(): void {
    const checks = this.#current.map((check) => ({ ...check, addend: -this.#hits, isTakenBack: true }));
    const batch = new TakenBack(checks);
    const nowMs = this.#call.monotonicMs();
    for (const check of checks) {
      if (batch.pending <= 0) return;
      this.#deployment.add(check, batch, nowMs);
    }
  }
}

/** Hits that are taken back; the call is answered without waiting for it. */
class TakenBack implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs = undefined;
  pending: number;

  constructor(checks: readonly CountedCheck[]) {
    this.checks = checks;
    this.pending = checks.length;
  }

  counted(): void {
    // The counters are as if the call had not been.
  }

  failed(): void {
    // The hits may stay until their windows end: fewer pass. The next call reports a store that fails.
  }
}

function neverFit({ limits }: CellRule, hits: number): boolean {
  return limits.some(({ capacity }) => hits > capacity);
}

function counterOf({ key }: CountedCheck, keyEnd: string, windowSeconds: number, addend: number): CountedCheck {
  return { key: `${key}${keyEnd}`, windowStartSeconds: 0, windowSeconds, addend, after: 0 };
}
