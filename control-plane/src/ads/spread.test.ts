// Tests of spread.ts.
import { describe, expect, it } from "vitest";

import { spreadDelaysMs } from "./spread.ts";

describe("spreadDelaysMs()", () => {
  it.each([
    { count: 0, overMs: 5000, delays: [] },
    { count: 1, overMs: 5000, delays: [3000] },
    { count: 4, overMs: 5000, delays: [1800, 2600, 3400, 4200] },
    { count: 2, overMs: 0, delays: [0, 0] },
  ])("ends $count streams within $overMs ms after $delays ms", ({ count, overMs, delays }) => {
    expect(spreadDelaysMs(count, overMs)).toEqual(delays);
  });
});
