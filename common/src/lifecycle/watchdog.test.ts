// Tests of watchdog.ts.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Watchdog } from "./watchdog.ts";

/** The fake clock runs an immediate so much later. */
const IMMEDIATE_MS = 1;

describe("Watchdog", () => {
  let expired: number;
  let watchdog: Watchdog;

  beforeEach(() => {
    vi.useFakeTimers();
    expired = 0;
    watchdog = new Watchdog(() => (expired += 1));
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** How often it has expired after so many milliseconds more. */
  function after(ms: number): number {
    vi.advanceTimersByTime(ms);
    return expired;
  }

  it("expires once, at the deadline", () => {
    watchdog.reset(100);
    expect([after(99), after(1 + IMMEDIATE_MS), after(1000)]).toEqual([0, 1, 1]);
  });

  it("expires at the last deadline that was set, earlier or later than the one before", () => {
    watchdog.reset(100);
    vi.advanceTimersByTime(90);
    watchdog.reset(50);
    expect([after(49), after(1 + IMMEDIATE_MS)]).toEqual([0, 1]);
    watchdog.reset(100);
    vi.advanceTimersByTime(90);
    watchdog.reset(1);
    expect(after(1 + IMMEDIATE_MS)).toBe(2);
  });

  it("does not expire after stop()", () => {
    watchdog.reset(100);
    watchdog.stop();
    expect(after(1000)).toBe(0);
  });

  it("does not expire when what was received while the process stood still sets another deadline", () => {
    watchdog.reset(100);
    setTimeout(() => watchdog.reset(100), 100); // Runs between the timer and the check, as a socket does.
    expect([after(199), after(1 + IMMEDIATE_MS)]).toEqual([0, 1]);
  });
});
