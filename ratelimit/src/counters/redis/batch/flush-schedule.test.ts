// When the schedule flushes: per event-loop turn, after a window of whole milliseconds, after one
// that is shorter than timers support, and immediately.
import { TurnEnd } from "@weir/common/turn/turn-end";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FlushSchedule } from "./flush-schedule.ts";

let flushes = 0;
let nowMs = 0;

function createSchedule(windowMs: number): FlushSchedule {
  return new FlushSchedule(
    { turn: new TurnEnd(() => 0), flush: () => (flushes += 1), nowMs: () => nowMs },
    { windowMs },
  );
}

/** Lets the event-loop turn end. */
async function endTurn(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
  flushes = 0;
  nowMs = 0;
});
afterEach(() => vi.useRealTimers());

describe("FlushSchedule", () => {
  it("note() flushes once at the end of the turn when there is no window", async () => {
    const schedule = createSchedule(0);
    schedule.note();
    schedule.note();
    expect(flushes).toBe(0);
    await endTurn();
    expect(flushes).toBe(1);
    await endTurn();
    expect(flushes).toBe(1);
    schedule.note();
    await endTurn();
    expect(flushes).toBe(2);
  });

  it("note() flushes once after the window when it is a millisecond or longer", async () => {
    const schedule = createSchedule(5);
    schedule.note();
    await vi.advanceTimersByTimeAsync(4);
    schedule.note();
    expect(flushes).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(flushes).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(flushes).toBe(1);
  });

  it("note() flushes with the first turn that brings nothing when the window is shorter than a millisecond", () => {
    const schedule = createSchedule(0.15);
    schedule.note();
    vi.runOnlyPendingTimers(); // The turn that brought the first call.
    expect(flushes).toBe(0);
    nowMs = 0.05;
    schedule.note();
    vi.runOnlyPendingTimers();
    expect(flushes).toBe(0);
    vi.runOnlyPendingTimers(); // Nothing came.
    expect(flushes).toBe(1);
    vi.runOnlyPendingTimers();
    expect(flushes).toBe(1);
  });

  it("note() flushes when a window shorter than a millisecond is over, though turns bring more", () => {
    const schedule = createSchedule(0.15);
    schedule.note();
    vi.runOnlyPendingTimers();
    schedule.note();
    nowMs = 0.15;
    vi.runOnlyPendingTimers();
    expect(flushes).toBe(1);
  });

  it.each([{ windowMs: 0 }, { windowMs: 0.15 }, { windowMs: 5 }])(
    "now() flushes immediately and nothing more when the window is $windowMs ms",
    async ({ windowMs }) => {
      const schedule = createSchedule(windowMs);
      schedule.note();
      schedule.now();
      expect(flushes).toBe(1);
      await vi.advanceTimersByTimeAsync(100);
      expect(flushes).toBe(1);
    },
  );

  it("cancel() flushes nothing", async () => {
    const schedule = createSchedule(5);
    schedule.note();
    schedule.cancel();
    await vi.advanceTimersByTimeAsync(100);
    expect(flushes).toBe(0);
  });
});
