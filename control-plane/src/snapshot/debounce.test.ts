// Tests of debounce.ts under a clock that the test moves.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Debounce } from "./debounce.ts";

const OPTIONS = { quietMs: 100, maxMs: 1000 };

describe("Debounce", () => {
  let nowMs = 0;
  let runsMs: number[] = [];
  let work: () => Promise<void> = () => Promise.resolve();
  let debounce: Debounce;

  /** Moves the clock in steps of one millisecond. */
  async function pass(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 1) {
      nowMs += 1;
      await vi.advanceTimersByTimeAsync(1);
    }
  }

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    runsMs = [];
    work = () => Promise.resolve();
    const run = (): Promise<void> => {
      runsMs.push(nowMs);
      return work();
    };
    debounce = new Debounce(run, () => nowMs, OPTIONS);
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs soon after a first change, with what comes until then, and gathers what follows until it is quiet", async () => {
    debounce.changed();
    await pass(5);
    debounce.changed();
    await pass(45);
    debounce.changed();
    await pass(50);
    debounce.changed();
    await pass(500);
    expect(runsMs).toEqual([10, 200]);
    debounce.changed();
    await pass(500);
    expect(runsMs).toEqual([10, 200, 610]);
  });

  it("waits no longer for a first change than for quiet", async () => {
    const runs: number[] = [];
    const run = (): Promise<void> => Promise.resolve(void runs.push(nowMs));
    new Debounce(run, () => nowMs, { quietMs: 3, maxMs: 1000 }).changed();
    await pass(500);
    expect(runs).toEqual([3]);
  });

  it("case A7: runs as often as the longest delay allows when a change comes every millisecond, and once after the last", async () => {
    for (let change = 0; change < 1500; change += 1) {
      debounce.changed();
      await pass(1);
    }
    await pass(500);
    expect(runsMs).toEqual([10, 1010, 1599]);
  });

  it("runs at most twenty times for a thousand changes in ten seconds", async () => {
    for (let change = 0; change < 1000; change += 1) {
      debounce.changed();
      await pass(10);
    }
    await pass(500);
    expect(runsMs.length).toBeLessThanOrEqual(20);
  });

  it("puts an endless burst off for no longer when the clock is put back by an hour meanwhile", async () => {
    for (let change = 0; change < 1700; change += 1) {
      if (change === 500) nowMs -= 3_600_000;
      debounce.changed();
      await pass(1);
    }
    // A second after the first change that the changed clock knows of; the next run is still to
    // come.
    expect(runsMs).toEqual([10, 500 - 3_600_000 + 1000]);
  });

  it("notes a change during a run for the next one, and never runs twice at a time", async () => {
    const running = Promise.withResolvers<undefined>();
    work = () => running.promise;
    debounce.changed();
    await pass(100);
    debounce.changed();
    await pass(300);
    expect(runsMs).toEqual([10]); // It is 400 ms now.
    work = () => Promise.resolve();
    running.resolve(undefined);
    await pass(100);
    expect(runsMs).toEqual([10, 500]);
  });

  it("runs nothing that was noted before it stopped", async () => {
    debounce.changed();
    await pass(5);
    debounce.stop();
    await pass(2000);
    expect(runsMs).toEqual([]);
  });

  it("runs nothing after it has stopped, and reports when the last run has ended", async () => {
    const running = Promise.withResolvers<undefined>();
    work = () => running.promise;
    debounce.changed();
    await pass(100);
    debounce.changed();
    debounce.stop();
    let isSettled = false;
    const settled = debounce.settled().then(() => (isSettled = true));
    await pass(10);
    expect(isSettled).toBe(false);
    running.resolve(undefined);
    await settled;
    debounce.changed();
    await pass(2000);
    expect(runsMs).toEqual([10]);
  });
});
