// How batches are given up that wait for a connection, and when: the clock and the timers are the test's.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CountBatch } from "../../counter.ts";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import type { PooledConnection } from "../connection/pooled-connection.ts";
import { PendingBatches } from "./pending-batches.ts";
import { CommandBatch } from "./command-batch.ts";

const TIMEOUT_MS = 1000;

let nowMs = 0;

/** Lets time pass, for the clock and for timers. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed++) {
    nowMs += 1;
    await vi.advanceTimersByTimeAsync(1);
  }
}

function createPending(silent: () => void = () => undefined): PendingBatches {
  return new PendingBatches(
    {
      monotonicMs: () => nowMs,
      text: () => "store:1",
      absence: () => new StoreError("STORE_UNAVAILABLE", "away"),
      reset: () => undefined,
      silent,
    },
    { timeoutMs: TIMEOUT_MS, countsCommands: false },
  );
}

/** Adds a call of one check to the batch that gathers. */
function add(pending: PendingBatches, call: CountBatch): void {
  const batch = pending.openBatch(nowMs);
  call.pending = 1;
  batch.add(check("a"), call);
  pending.noteAdded(batch);
}

/** A connection that nothing is written to. */
const CONNECTION = {} as PooledConnection;

/** Adds a call of one check, and marks its batch as sent. */
function send(pending: PendingBatches): CommandBatch {
  add(pending, new WaitingBatch([check("a")]));
  pending.closeOpenBatch();
  const [batch] = pending.takeWaiting(Infinity);
  if (batch === undefined) throw new Error("No batch was closed");
  pending.markSent(batch, CONNECTION);
  return batch;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  nowMs = 5_000_000;
});
afterEach(() => vi.useRealTimers());

describe("PendingBatches", () => {
  it("noteAdded() has each call answered when its deadline comes, and all others when the time limit is over", async () => {
    const pending = createPending();
    const hasty = new WaitingBatch([check("a")], 5_000_050);
    const patient = new WaitingBatch([check("a")]);
    add(pending, hasty);
    add(pending, patient);
    pending.closeOpenBatch();
    await pass(49);
    expect([hasty.isAnswered, patient.isAnswered]).toEqual([false, false]);
    await pass(1);
    expect([hasty.isAnswered, patient.isAnswered]).toEqual([true, false]);
    await pass(950);
    await expect(patient.counts).rejects.toMatchObject({ message: "away" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("noteAdded() has calls whose deadlines come together fail with one error, which is made once", async () => {
    const pending = createPending();
    const calls = [new WaitingBatch([check("a")], 5_000_050), new WaitingBatch([check("b")], 5_000_050)];
    for (const call of calls) add(pending, call);
    await pass(50);
    const [first, second] = await Promise.all(calls.map((call) => call.counts.catch((error: unknown) => error)));
    expect(first).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(second).toBe(first);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
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
    const patient = new CommandBatch(nowMs, TIMEOUT_MS);
    const other = new WaitingBatch([check("b")]);
    other.pending = 1;
    patient.add(check("b"), other);
    add(pending, asksAgain);
    pending.closeOpenBatch();
    pending.wait(patient);
    await pass(89);
    expect([late.isAnswered, other.isAnswered]).toEqual([false, false]);
    await pass(1);
    expect([late.isAnswered, other.isAnswered]).toEqual([true, false]);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
    expect([other.isAnswered, vi.getTimerCount()]).toEqual([true, 0]);
  });

  it("markSent() reports silence when the time limit passes and no batch was completed since", async () => {
    const events: number[] = [];
    const pending = createPending(() => events.push(nowMs));
    const [first, second] = [send(pending), send(pending)];
    await pass(100);
    pending.complete(first);
    await pass(100);
    const third = send(pending);
    await pass(899); // The second one has had its time, but there was an answer after it was written.
    expect(events).toEqual([]);
    await pass(101);
    expect(events).toEqual([5_001_200]);
    expect([second, third].map(({ isFailed }) => isFailed)).toEqual([true, true]);
  });

  it("checks counts what is open, waits or is in flight", () => {
    const pending = createPending();
    const sent = send(pending);
    add(pending, new WaitingBatch([check("a")]));
    expect(pending.checks).toBe(2);
    pending.closeOpenBatch();
    add(pending, new WaitingBatch([check("a")]));
    expect(pending.checks).toBe(3);
    pending.complete(sent);
    expect(pending.checks).toBe(2);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
    expect(pending.checks).toBe(0);
  });

  it("closeAgedBatch() gathers the calls of 10 ms", () => {
    const pending = createPending();
    for (let calls = 0; calls < 30; calls++, nowMs += 1) {
      add(pending, new WaitingBatch([check("a")]));
      pending.closeAgedBatch();
    }
    pending.closeOpenBatch();
    pending.closeAgedBatch(); // There is none.
    expect(pending.takeWaiting(Infinity).map(({ size }) => size)).toEqual([11, 11, 8]);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
  });

  it("takeWaiting() takes the first batches, as many as have so few checks, or one", () => {
    const pending = createPending();
    for (const size of [3, 2, 2, 9]) {
      for (let calls = 0; calls < size; calls++) add(pending, new WaitingBatch([check("a")]));
      pending.closeOpenBatch();
    }
    const taken: (readonly number[])[] = [];
    while (pending.hasWaiting) taken.push(pending.takeWaiting(5).map(({ size }) => size));
    expect(taken).toEqual([[3, 2], [2], [9]]);
    expect([pending.checks, pending.takeWaiting(5)]).toEqual([0, []]);
    pending.failAll(new StoreError("STORE_UNAVAILABLE", "stopping"));
  });
});
