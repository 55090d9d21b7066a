import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";

import type { ObjectKey } from "./reconciler.ts";
import { WorkQueue, type WorkQueueObserver } from "./work-queue.ts";

const keyOf = (name: string): ObjectKey => ({ namespace: "team", name });
const [A, B] = [keyOf("a"), keyOf("b")];

/** Waits are not shortened by jitter: 100, 200, 400, 800 and 1000 ms. */
const OPTIONS = { backoffInitialMs: 100, backoffMaxMs: 1000, random: () => 1 - Number.EPSILON };

const SILENT: WorkQueueObserver = {
  added: () => undefined,
  retried: () => undefined,
  began: () => undefined,
  ended: () => undefined,
};

describe("WorkQueue", () => {
  let queue: WorkQueue;

  beforeEach(() => {
    queue = new WorkQueue(SILENT, OPTIONS);
  });

  it("take() returns keys in the order in which they were added, each once", () => {
    for (const key of [A, B, A]) queue.add(key, 0);
    expect([queue.take(0), queue.take(0), queue.take(0)]).toEqual([A, B, undefined]);
  });

  it("take() returns a key that was added during its work after the work, and once", () => {
    queue.add(A, 0);
    queue.take(0);
    queue.add(A, 1);
    queue.add(A, 2);
    expect([queue.take(3), queue.depth]).toEqual([undefined, 0]);
    queue.succeed(A, 4, undefined);
    expect([queue.take(4), queue.take(4)]).toEqual([A, undefined]);
  });

  it("fail() waits longer after each failure up to the longest wait, until a success", () => {
    const waits: number[] = [];
    let nowMs = 0;
    queue.add(A, nowMs);
    for (let failure = 0; failure < 6; failure++) {
      expect(queue.take(nowMs)).toEqual(A);
      const waitMs = queue.fail(A, nowMs);
      waits.push(Math.round(waitMs));
      expect(queue.take(nowMs + waitMs - 1)).toBeUndefined();
      nowMs += waitMs;
    }
    expect(waits).toEqual([100, 200, 400, 800, 1000, 1000]);
    queue.take(nowMs);
    queue.succeed(A, nowMs, undefined);
    queue.add(A, nowMs);
    queue.take(nowMs);
    expect(Math.round(queue.fail(A, nowMs))).toBe(100);
  });

  it("fail() waits for as long as a server asks for, and with jitter at least half of the wait", () => {
    queue = new WorkQueue(SILENT, { ...OPTIONS, random: () => 0 });
    for (const key of [A, B]) queue.add(key, 0);
    queue.take(0);
    queue.take(0);
    expect([queue.fail(A, 0), queue.fail(B, 0, { atLeastMs: 5000 })]).toEqual([50, 5000]);
    expect(queue.nextDueMs).toBe(50);
  });

  it("fail() waits no longer than it may, and grows the wait meanwhile", () => {
    let nowMs = 0;
    const waits: number[] = [];
    queue.add(A, nowMs);
    for (const atMostMs of [300, 300, 300, 300, undefined]) {
      queue.take(nowMs);
      const waitMs = queue.fail(A, nowMs, { ...(atMostMs && { atMostMs }) });
      waits.push(Math.round(waitMs));
      nowMs += waitMs;
    }
    expect(waits).toEqual([100, 200, 300, 300, 1000]);
  });

  it("add() ends the wait of a key that has failed", () => {
    queue.add(A, 0);
    queue.take(0);
    queue.fail(A, 0);
    queue.add(A, 1);
    expect(queue.take(1)).toEqual(A);
    queue.succeed(A, 1, undefined);
    expect(queue.take(1000)).toBeUndefined();
  });

  it("succeed() makes the key due after the time that it is given", () => {
    queue.add(A, 0);
    queue.take(0);
    queue.succeed(A, 10, 500);
    expect([queue.nextDueMs, queue.take(509), queue.take(510)]).toEqual([510, undefined, A]);
  });

  it("fail() of one key delays no other", () => {
    for (const key of [A, B]) queue.add(key, 0);
    queue.take(0);
    queue.fail(A, 0);
    expect(queue.take(0)).toEqual(B);
  });

  it("observes how long keys waited and were worked on", () => {
    const seen: string[] = [];
    queue = new WorkQueue(
      {
        added: () => seen.push("added"),
        retried: () => seen.push("retried"),
        began: (ms) => seen.push(`waited ${ms}`),
        ended: (ms) => seen.push(`worked ${ms}`),
      },
      OPTIONS,
    );
    queue.add(A, 0);
    queue.add(A, 1);
    queue.take(5);
    expect(queue.workedMs(7)).toEqual([2]);
    queue.fail(A, 8);
    expect(seen).toEqual(["added", "waited 5", "worked 3", "retried"]);
  });

  it("succeed() throws when the work has not begun", () => {
    expect(() => queue.succeed(A, 0, undefined)).toThrow("Cannot end the work on team/a: it has not begun");
  });
});

/** The next step of a queue: a change of a key, time, the beginning of work, or the end of the oldest. */
const STEP = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), name: fc.constantFrom("a", "b", "c", "d") }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 600 }) }),
  fc.record({ kind: fc.constant("take" as const) }),
  fc.record({
    kind: fc.constant("end" as const),
    result: fc.constantFrom("succeed" as const, "again" as const, "fail" as const),
  }),
);

describe("WorkQueue in any order of events", () => {
  it("never works on a key twice at a time, and begins after the last change of each key", () => {
    const property = fc.property(fc.array(STEP, { maxLength: 200 }), (steps) => {
      const queue = new WorkQueue(SILENT, { ...OPTIONS, random: () => 0.5 });
      const running: ObjectKey[] = [];
      /** Steps of the last change and of the last beginning, by name. */
      const [changed, began] = [new Map<string, number>(), new Map<string, number>()];
      let [nowMs, step] = [0, 0];
      const take = (): boolean => {
        const key = queue.take(nowMs);
        if (key === undefined) return false;
        expect(running).not.toContainEqual(key);
        running.push(key);
        began.set(key.name, ++step);
        return true;
      };
      const end = (result: "succeed" | "again" | "fail"): void => {
        const key = running.shift();
        if (key === undefined) return;
        if (result === "fail") queue.fail(key, nowMs);
        else queue.succeed(key, nowMs, result === "again" ? 250 : undefined);
      };
      for (const each of steps) {
        if (each.kind === "add") {
          changed.set(each.name, ++step);
          queue.add(keyOf(each.name), nowMs);
        } else if (each.kind === "wait") nowMs += each.ms;
        else if (each.kind === "take") take();
        else end(each.result);
      }
      // From now on all work succeeds.
      for (;;) {
        while (take());
        if (running.length > 0) end("succeed");
        else if (queue.nextDueMs < Infinity) nowMs = Math.max(nowMs, queue.nextDueMs);
        else break;
      }
      for (const [name, at] of changed) expect(began.get(name) ?? 0).toBeGreaterThan(at);
      expect([queue.depth, queue.running]).toEqual([0, 0]);
    });
    fc.assert(property, { seed: 1, numRuns: 500 });
  });
});
