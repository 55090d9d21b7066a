// Tests of the slice that the loads of a turn share.
import { afterEach, expect, it, vi } from "vitest";

import { timeSlicedLoad } from "./time-sliced-load.ts";

afterEach(() => vi.restoreAllMocks());

it("timeSlicedLoad() has one slice in a turn for all loads that follow each other in it", async () => {
  let [taken, nowMs] = [0, 0];
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  function* load(): Generator<undefined, void> {
    for (let step = 0; step < 2; step += 1) {
      nowMs += 0.4;
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
  for (let part = 0; part < 4; part += 1) await timeSlicedLoad(load());
  expect(turns).toEqual([3, 6]);
});
