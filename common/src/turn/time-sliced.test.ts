// Tests of time-sliced.ts: others have their turn during long work, and the result is the same.
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { timeSliced } from "./time-sliced.ts";

let nowMs: number;

beforeEach(async () => {
  await new Promise((resolve) => setImmediate(resolve)); // The slice of the test before ends.
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

it("timeSliced() lets others have their turn every ten milliseconds, and gives the result", async () => {
  let taken = 0;
  function* work(): Generator<undefined, string> {
    for (; taken < 10; taken += 1) {
      nowMs += 4;
      yield;
    }
    return "done";
  }
  const turns: number[] = [];
  const turn = (): void => {
    turns.push(taken);
    if (taken < 8) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await timeSliced(work())).toBe("done");
  expect(turns).toEqual([2, 5, 8]);
});

it("timeSliced() has one slice in a turn for all work that follows in it", async () => {
  let taken = 0;
  function* work(): Generator<undefined, void> {
    for (let step = 0; step < 2; step += 1) {
      nowMs += 4;
      taken += 1;
      yield;
    }
  }
  const turns: number[] = [];
  const turn = (): void => {
    turns.push(taken);
    if (taken < 8) setImmediate(turn);
  };
  setImmediate(turn);
  for (let part = 0; part < 4; part += 1) await timeSliced(work());
  expect(turns).toEqual([3, 6]);
});

it("timeSliced() takes no turn for short work", async () => {
  let turns = 0;
  const turn = setImmediate(() => (turns += 1));
  expect(await timeSliced([undefined, undefined].values() as Iterator<undefined, unknown>)).toBeUndefined();
  clearImmediate(turn);
  expect(turns).toBe(0);
});
