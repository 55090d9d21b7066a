// Tests of connection-life.ts.
import { describe, expect, it } from "vitest";

import { drainDelaysMs, limitsOf } from "./connection-life.ts";

describe("limitsOf()", () => {
  it("pings connections and bounds what they may do when nothing else is chosen", () => {
    expect(limitsOf({ connectionAgeMaxMs: 3_600_000 })).toMatchObject({
      keepAliveIntervalMs: 5000,
      keepAliveTimeoutMs: 5000,
      stallTimeoutMs: 10_000,
      connectionAgeMs: 3_600_000,
      connectionAgeGraceMs: 5000,
      messageMaxBytes: 4 * 1024 * 1024,
      concurrentStreamsMax: 100,
    });
  });
});

describe("drainDelaysMs()", () => {
  it.each([
    { count: 0, overMs: 5000, delays: [] },
    { count: 1, overMs: 5000, delays: [3000] },
    { count: 4, overMs: 5000, delays: [1800, 2600, 3400, 4200] },
    { count: 2, overMs: 0, delays: [0, 0] },
  ])("ends $count streams within $overMs ms after $delays ms", ({ count, overMs, delays }) => {
    expect(drainDelaysMs(count, overMs)).toEqual(delays);
  });
});
