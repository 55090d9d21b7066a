import { describe, expect, it } from "vitest";

import { plotPath } from "./plot.ts";

describe("plotPath()", () => {
  it.each([
    { series: [0, 1, 2], most: 2, path: "M0 11L0 11H10L10 6H20L20 1H30V11Z" },
    { series: [0, 0, 0], most: 0, path: "M0 11L0 11H10L10 11H20L20 11H30V11Z" },
  ])("draws $series", ({ series, most, path }) => {
    expect(plotPath(series, most, { width: 30, height: 11 })).toBe(path);
  });
});
