// Checks that wait for a node: sent again after 100 ms, for as long as their calls may take, and
// not more of them than fit.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import type { KeyChecks } from "../turn.ts";
import { ParkedChecks } from "./parked-checks.ts";

const CAUSE = new Error("CLUSTERDOWN The cluster is down");

/** The moment that the fake timers have reached. */
function nowMs(): number {
  return vi.getMockedSystemTime()?.getTime() ?? Number.NaN;
}

function keyChecks(batch: WaitingBatch): KeyChecks {
  const [first] = batch.checks;
  if (first === undefined) throw new Error("A batch has at least one check");
  const { key, windowSeconds, addend } = first;
  batch.pending = batch.checks.length;
  return {
    key,
    isRead: false,
    windowSeconds,
    sum: addend,
    first: { check: first, addend, batch },
    more: undefined,
    sendsExpiry: false,
  };
}

describe("ParkedChecks", () => {
  let sent: { readonly key: string; readonly createdMs: number; readonly atMs: number }[];
  let parked: ParkedChecks;
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    sent = [];
    parked = new ParkedChecks(
      {
        send: (checks, createdMs) => sent.push(...checks.map(({ key }) => ({ key, createdMs, atMs: nowMs() }))),
        clock: nowMs,
      },
      { timeoutMs: 400, text: "a:1,b:2" },
    );
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("add() sends checks again after 100 ms, with the moment at which they came", () => {
    parked.add([keyChecks(new WaitingBatch([check("first")]))], 999_950, CAUSE);
    vi.advanceTimersByTime(50);
    parked.add([keyChecks(new WaitingBatch([check("second")]))], 1_000_000, CAUSE);
    expect(parked.size).toBe(2);
    vi.advanceTimersByTime(100);
    expect(sent).toEqual([
      { key: "first_4000000200", createdMs: 999_950, atMs: 1_000_100 },
      { key: "second_4000000200", createdMs: 1_000_000, atMs: 1_000_150 },
    ]);
    expect(parked.size).toBe(0);
  });

  it("add() fails calls with the cluster's words when their time is over before they can be sent again", async () => {
    const batch = new WaitingBatch([check("late")]);
    parked.add([keyChecks(batch)], 999_650, CAUSE);
    vi.advanceTimersByTime(49);
    expect(batch.isAnswered).toBe(false);
    vi.advanceTimersByTime(1);
    await expect(batch.counts).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Cannot count on a:1,b:2: CLUSTERDOWN The cluster is down",
    });
    expect(sent).toEqual([]);
  });

  it("add() fails a call at its own deadline, and still sends what came with it", async () => {
    const hasty = new WaitingBatch([check("hasty")], 1_000_020);
    const patient = new WaitingBatch([check("patient")]);
    parked.add([keyChecks(hasty), keyChecks(patient)], 1_000_000, CAUSE);
    vi.advanceTimersByTime(20);
    await expect(hasty.counts).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(patient.isAnswered).toBe(false);
    vi.advanceTimersByTime(80);
    expect(sent.map(({ key }) => key)).toContain("patient_4000000200");
  });

  it("add() fails what waits when the clock steps back", async () => {
    const batch = new WaitingBatch([check("clock")]);
    parked.add([keyChecks(batch)], 1_000_000, CAUSE);
    vi.setSystemTime(5000);
    vi.advanceTimersByTime(100);
    await expect(batch.counts).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("add() refuses more than 100,000 checks", async () => {
    const one = keyChecks(new WaitingBatch([check("many")]));
    for (let times = 0; times < 100; times++)
      parked.add(
        Array.from({ length: 1000 }, () => one),
        1_000_000,
        CAUSE,
      );
    expect(parked.size).toBe(100_000);
    const batch = new WaitingBatch([check("more")]);
    parked.add([keyChecks(batch)], 1_000_000, CAUSE);
    await expect(batch.counts).rejects.toThrow("CLUSTERDOWN");
    expect(parked.size).toBe(100_000);
  });

  it("close() fails what waits and what comes afterwards", async () => {
    const error = new StoreError("STORE_UNAVAILABLE", "stopping", { transient: true });
    const [before, after] = [new WaitingBatch([check("before")]), new WaitingBatch([check("after")])];
    parked.add([keyChecks(before)], 1_000_000, CAUSE);
    parked.close(error);
    parked.add([keyChecks(after)], 1_000_000, CAUSE);
    await expect(before.counts).rejects.toThrow("stopping");
    await expect(after.counts).rejects.toThrow("stopping");
    vi.advanceTimersByTime(1000);
    expect(sent).toEqual([]);
  });
});
