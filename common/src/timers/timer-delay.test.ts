// Tests of timer-delay.ts: each delay is one that Node can wait for.
import { describe, expect, it } from "vitest";

import { timerDelayMs } from "./timer-delay.ts";

describe("timerDelayMs()", () => {
  it.each([
    { what: "until a later time", dueMs: 1500, nowMs: 1000, delayMs: 500 },
    { what: "not when it is now", dueMs: 1000, nowMs: 1000, delayMs: 0 },
    { what: "not when it is over, as after a process was frozen", dueMs: 1000, nowMs: 61_000, delayMs: 0 },
    { what: "as long as a timer can, for a deadline in months", dueMs: 3e9, nowMs: 0, delayMs: 2_147_483_647 },
    { what: "as long as a timer can until a time that never comes", dueMs: Infinity, nowMs: 0, delayMs: 2_147_483_647 },
  ])("waits $what", ({ dueMs, nowMs, delayMs }) => {
    expect(timerDelayMs(dueMs, nowMs)).toBe(delayMs);
  });
});
