import { TurnEnd } from "@weir/common/turn/turn-end";
import { describe, expect, it } from "vitest";

import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ResponseTimes } from "./response-times.ts";

interface Fixture {
  readonly times: ResponseTimes;
  readonly recorded: number[];
  /** The time of the clock, and how often it was read. */
  readonly clock: { nowMs: number; readings: number };
}

function fixture(): Fixture {
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const recorded: number[] = [];
  store.onTimer((_timer, durationMs, times) => recorded.push(...Array<number>(times).fill(durationMs)));
  const clock = { nowMs: 100, readings: 0 };
  const nowMs = (): number => {
    clock.readings += 1;
    return clock.nowMs;
  };
  const times = new ResponseTimes(store.timer("t"), { turn: new TurnEnd(() => 0), nowMs });
  return { times, recorded, clock };
}

/** Resolves after the end of this turn. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

describe("ResponseTimes", () => {
  it("a call lasts until the end of the turn in which it is answered", async () => {
    const { times, recorded, clock } = fixture();
    const startMs = times.begin();
    times.end(startMs);
    clock.nowMs = 103;
    expect(recorded).toEqual([]);
    await endOfTurn();
    expect(recorded).toEqual([3]);
  });

  it("the clock is read twice in a turn, however many calls there are", async () => {
    const { times, recorded, clock } = fixture();
    const starts = [times.begin(), times.begin(), times.begin()];
    clock.nowMs = 101;
    for (const startMs of starts) times.end(startMs);
    await endOfTurn();
    expect(recorded).toEqual([1, 1, 1]);
    expect(clock.readings).toBe(2);
  });

  it("calls that are answered in a later turn have their own times", async () => {
    const { times, recorded, clock } = fixture();
    const first = times.begin();
    await endOfTurn();
    clock.nowMs = 110;
    const second = times.begin();
    await endOfTurn();
    expect(recorded).toEqual([]);
    clock.nowMs = 120;
    times.end(second);
    times.end(first);
    times.end(second);
    await endOfTurn();
    expect(recorded).toEqual([10, 20, 10]);
    expect(clock.readings).toBe(3);
  });
});
