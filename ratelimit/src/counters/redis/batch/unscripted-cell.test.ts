// The handling of the hits of a call whose answer no caller awaits any more, and of one that cannot be counted.
import { describe, expect, it } from "vitest";

import type { CountBatch, CountedCheck } from "../../counter.ts";
import { cellRule, CountedCellOnce } from "../../cells.suite.ts";
import { StoreError } from "../../store-error.ts";
import type { Deployment } from "../deployment.ts";
import { failCall } from "./key-checks.ts";
import { countUnscripted } from "./unscripted-cell.ts";

const RULE = cellRule(10, 60, "sliding_window");

/** A deployment whose answers the test gives. */
class HeldDeployment implements Pick<Deployment, "add" | "read" | "refusal"> {
  readonly asked: { readonly check: CountedCheck; readonly batch: CountBatch; readonly nowMs: number }[] = [];
  refusedKey: string | undefined;

  add(check: CountedCheck, batch: CountBatch, nowMs: number): void {
    this.asked.push({ check, batch, nowMs });
  }

  read(check: CountedCheck, batch: CountBatch, nowMs: number): void {
    this.add(check, batch, nowMs);
  }

  refusal(_nowMs: number, key: string): StoreError | undefined {
    return key === this.refusedKey ? new StoreError("STORE_UNAVAILABLE", "silent") : undefined;
  }

  /** Answers everything that was asked: the count after each. */
  answer(after: number): void {
    for (const { check, batch } of this.asked.splice(0)) {
      check.after = after;
      batch.pending -= 1;
      if (batch.pending === 0) batch.counted();
    }
  }
}

/** A call of three hits in a deployment, 5 ms after its start. */
function count(deployment: HeldDeployment): CountedCellOnce {
  const call = new CountedCellOnce(RULE, { key: "k", nowMs: 90_000, hits: 3 });
  const [check] = call.checks;
  call.pending = 1;
  let nowMs = 0;
  const monotonicMs = (): number => (nowMs += 5);
  countUnscripted(deployment as unknown as Deployment, check!, { batch: call, isRead: false, monotonicMs });
  return call;
}

describe("countUnscripted()", () => {
  it("countUnscripted() takes back what does not fit after the call has failed, by the time of then", async () => {
    const deployment = new HeldDeployment();
    const call = count(deployment);
    expect(deployment.asked.map(({ batch, nowMs }) => [batch.deadlineMs, nowMs])).toEqual([
      [undefined, 5],
      [undefined, 5],
    ]);
    failCall(call, new StoreError("STORE_UNAVAILABLE", "too late"));
    await expect(call.answered).rejects.toThrow("too late");
    deployment.answer(12);
    expect(deployment.asked.map(({ check: { key, addend }, nowMs }) => ({ key, addend, nowMs }))).toEqual([
      { key: `k${RULE.keyEnd}_0_1`, addend: -3, nowMs: 10 },
    ]);
  });

  it("countUnscripted() adds nothing when one of its counters cannot be asked", async () => {
    const deployment = new HeldDeployment();
    deployment.refusedKey = `k${RULE.keyEnd}_0_1`;
    const call = count(deployment);
    await expect(call.answered).rejects.toThrow("silent");
    expect(deployment.asked).toEqual([]);
  });
});
