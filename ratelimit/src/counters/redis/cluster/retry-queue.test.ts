// Checks that wait for a node: sent again after 100 ms, for as long as their calls may take, and
// not more of them than fit.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import { KeyChecks } from "../batch/key-checks.ts";
import { RetryQueue } from "./retry-queue.ts";

const CAUSE = new Error("CLUSTERDOWN The cluster is down");

/** The moment that the fake timers have reached. */
function nowMs(): number {
  return vi.getMockedSystemTime()?.getTime() ?? Number.NaN;
}

function keyChecks(call: WaitingBatch): KeyChecks {
  const [first] = call.checks;
  if (first === undefined) throw new Error("A call has at least one check");
  call.pending = call.checks.length;
  return new KeyChecks(first, call, false);
}

describe("RetryQueue", () => {
  let sent: { readonly key: string; readonly createdMs: number; readonly atMs: number }[];
  let queued: RetryQueue;
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    sent = [];
    queued = new RetryQueue(
      {
        send: (checks, createdMs) => sent.push(...checks.map(({ key }) => ({ key, createdMs, atMs: nowMs() }))),
        monotonicMs: nowMs,
      },
      { timeoutMs: 400, text: "a:1,b:2" },
    );
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("add() sends checks again after 100 ms, with the moment at which they came", () => {
    queued.add([keyChecks(new WaitingBatch([check("first")]))], 999_950, CAUSE);
    vi.advanceTimersByTime(50);
    queued.add([keyChecks(new WaitingBatch([check("second")]))], 1_000_000, CAUSE);
    expect(queued.size).toBe(2);
    vi.advanceTimersByTime(100);
    expect(sent).toEqual([
      { key: "first_4000000200", createdMs: 999_950, atMs: 1_000_100 },
      { key: "second_4000000200", createdMs: 1_000_000, atMs: 1_000_150 },
    ]);
    expect(queued.size).toBe(0);
  });

  it("add() fails calls with the cluster's words when their time is over before they can be sent again", async () => {
    const call = new WaitingBatch([check("late")]);
    queued.add([keyChecks(call)], 999_650, CAUSE);
    vi.advanceTimersByTime(49);
    expect(call.isAnswered).toBe(false);
    vi.advanceTimersByTime(1);
    await expect(call.counts).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Cannot count on a:1,b:2: CLUSTERDOWN The cluster is down",
    });
    expect(sent).toEqual([]);
  });

  it("add() fails a call at its own deadline, and still sends what came with it", async () => {
    const hasty = new WaitingBatch([check("hasty")], 1_000_020);
    const patient = new WaitingBatch([check("patient")]);
    queued.add([keyChecks(hasty), keyChecks(patient)], 1_000_000, CAUSE);
    vi.advanceTimersByTime(20);
    await expect(hasty.counts).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(patient.isAnswered).toBe(false);
    vi.advanceTimersByTime(80);
    expect(sent.map(({ key }) => key)).toContain("patient_4000000200");
  });

  it("add() refuses more than 100,000 checks", async () => {
    const one = keyChecks(new WaitingBatch([check("many")]));
    for (let times = 0; times < 100; times++)
      queued.add(
        Array.from({ length: 1000 }, () => one),
        1_000_000,
        CAUSE,
      );
    expect(queued.size).toBe(100_000);
    const call = new WaitingBatch([check("more")]);
    queued.add([keyChecks(call)], 1_000_000, CAUSE);
    await expect(call.counts).rejects.toThrow("CLUSTERDOWN");
    expect(queued.size).toBe(100_000);
  });

  it("close() fails what waits and what comes afterwards", async () => {
    const error = new StoreError("STORE_UNAVAILABLE", "stopping", { transient: true });
    const [before, after] = [new WaitingBatch([check("before")]), new WaitingBatch([check("after")])];
    queued.add([keyChecks(before)], 1_000_000, CAUSE);
    queued.close(error);
    queued.add([keyChecks(after)], 1_000_000, CAUSE);
    await expect(before.counts).rejects.toThrow("stopping");
    await expect(after.counts).rejects.toThrow("stopping");
    vi.advanceTimersByTime(1000);
    expect(sent).toEqual([]);
  });
});
