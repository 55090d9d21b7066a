// How turns are given up that wait for a link, and when: the clock and the timers are the test's.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CountBatch } from "../counter.ts";
import { check, WaitingBatch } from "../counter.suite.ts";
import { StoreError } from "../store-error.ts";
import { ExpiryMemory } from "./expiry-memory.ts";
import { PendingTurns } from "./pending-turns.ts";
import { Turn } from "./turn.ts";

const TIMEOUT_MS = 1000;

let nowMs = 0;

/** Lets time pass, for the clock and for timers. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed++) {
    nowMs += 1;
    await vi.advanceTimersByTimeAsync(1);
  }
}

function createPending(): PendingTurns {
  return new PendingTurns(
    {
      clock: () => nowMs,
      context: {
        expiries: new ExpiryMemory(10),
        expirySeconds: (windowSeconds) => windowSeconds,
        replyError: () => new StoreError("STORE_UNAVAILABLE", "refused"),
      },
      text: () => "store:1",
      absence: () => new StoreError("STORE_UNAVAILABLE", "away"),
      reset: () => undefined,
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

/** Adds a call of one check to the turn that gathers. */
function add(pending: PendingTurns, batch: CountBatch): void {
  const turn = pending.gathering(nowMs);
  batch.pending = 1;
  turn.add(check("a"), batch);
  pending.noteAdded(turn);
}

beforeEach(() => {
  vi.useFakeTimers();
  nowMs = 5_000_000;
});
afterEach(() => vi.useRealTimers());

describe("PendingTurns", () => {
  it("noteAdded() has each call answered when its deadline comes, and all others when the time limit is over", async () => {
    const pending = createPending();
    const hasty = new WaitingBatch([check("a")], 5_000_050);
    const patient = new WaitingBatch([check("a")]);
    add(pending, hasty);
    add(pending, patient);
    pending.endGathering();
    await pass(49);
    expect([hasty.isAnswered, patient.isAnswered]).toEqual([false, false]);
    await pass(1);
    expect([hasty.isAnswered, patient.isAnswered]).toEqual([true, false]);
    await pass(950);
    await expect(patient.counts).rejects.toMatchObject({ message: "away" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("noteAdded() has a call answered in time when it came while another one was being answered", async () => {
    const pending = createPending();
    const late = new WaitingBatch([check("a")], 5_000_090);
    const asksAgain: CountBatch = {
      checks: [check("a")],
      deadlineMs: 5_000_050,
      pending: 0,
      counted: () => undefined,
      failed: () => add(pending, late),
    };
    const patient = new Turn(nowMs, TIMEOUT_MS);
    const other = new WaitingBatch([check("b")]);
    other.pending = 1;
    patient.add(check("b"), other);
    add(pending, asksAgain);
    pending.endGathering();
    pending.wait(patient);
    await pass(89);
    expect([late.isAnswered, other.isAnswered]).toEqual([false, false]);
    await pass(1);
    expect([late.isAnswered, other.isAnswered]).toEqual([true, false]);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
    expect([other.isAnswered, vi.getTimerCount()]).toEqual([true, 0]);
  });

  it("noteAdded() has a call answered when the time limit is over though the clock has stepped back", async () => {
    const pending = createPending();
    const batch = new WaitingBatch([check("a")]);
    add(pending, batch);
    pending.endGathering();
    nowMs = 1_000_000;
    await pass(1000);
    await expect(batch.counts).rejects.toMatchObject({ message: "away" });
  });
});
