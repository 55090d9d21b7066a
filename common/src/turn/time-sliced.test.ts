// Tests of time-sliced.ts: others have their turn during long work, and the result is the same.
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { timeSliced } from "./time-sliced.ts";

let nowMs: number;

beforeEach(() => {
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

it("timeSliced() takes no turn for short work", async () => {
  let turns = 0;
  const turn = setImmediate(() => (turns += 1));
  expect(await timeSliced([undefined, undefined].values() as Iterator<undefined, unknown>)).toBeUndefined();
  clearImmediate(turn);
  expect(turns).toBe(0);
});
