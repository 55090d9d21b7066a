// When a retry loop makes its attempts, under fake timers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { RetryLoop } from "./retry-loop.ts";

describe("RetryLoop", () => {
  let attempts: number[];
  let loop: RetryLoop;

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    attempts = [];
    const backoff = { initialMs: 100, maxMs: 400, factor: 1, jitter: false, random: () => 0 };
    loop = new RetryLoop(() => attempts.push(Number(vi.getMockedSystemTime())), backoff);
  });
  afterEach(() => {
    loop.stop();
    vi.useRealTimers();
  });

  it("start() makes an attempt immediately, and no other by itself", () => {
    loop.start();
    vi.advanceTimersByTime(60_000);
    expect(attempts).toEqual([0]);
  });

  it("retry() waits longer each time up to the maximum", () => {
    loop.start();
    for (const waitMs of [100, 200, 400, 400]) {
      loop.retry();
      vi.advanceTimersByTime(waitMs);
    }
    expect(attempts).toEqual([0, 100, 300, 700, 1100]);
  });

  it("retry() begins with the shortest wait after succeeded()", () => {
    loop.retry();
    loop.retry();
    loop.succeeded();
    loop.retry();
    vi.advanceTimersByTime(100);
    expect(attempts).toEqual([100]);
  });

  it("retry() replaces a pending wait", () => {
    loop.retry(1000);
    loop.retry(10);
    vi.advanceTimersByTime(60_000);
    expect(attempts).toEqual([10]);
  });

  it("stop() ends a pending wait, and nothing starts afterwards", () => {
    loop.retry();
    loop.stop();
    loop.start();
    loop.retry();
    vi.advanceTimersByTime(60_000);
    expect(attempts).toEqual([]);
  });
});
