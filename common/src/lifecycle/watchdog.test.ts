// Tests of watchdog.ts.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Watchdog } from "./watchdog.ts";

/** The fake clock runs an immediate so much later. */
const IMMEDIATE_MS = 1;

describe("Watchdog", () => {
  let expired: number[];
  let watchdog: Watchdog;

  beforeEach(() => {
    vi.useFakeTimers();
    expired = [];
    const startMs = Date.now();
    watchdog = new Watchdog(() => expired.push(Date.now() - startMs - IMMEDIATE_MS));
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("expires once, at the deadline", () => {
    watchdog.reset(100);
    vi.advanceTimersByTime(99);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([100]);
  });

  it("expires at the last deadline that was set, earlier or later than the one before", () => {
    watchdog.reset(100);
    vi.advanceTimersByTime(90);
    watchdog.reset(50);
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([140]);
  });

  it("does not expire after stop()", () => {
    watchdog.reset(100);
    watchdog.stop();
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([]);
  });

  it("does not expire when what was received while the process stood still sets another deadline", () => {
    watchdog.reset(100);
    setTimeout(() => watchdog.reset(100), 100); // Runs between the timer and the check, as a socket does.
    vi.advanceTimersByTime(199);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect(expired).toEqual([200]);
  });
});
