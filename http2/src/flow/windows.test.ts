// Tests of the windows of flow control.
import { describe, expect, it } from "vitest";

import { isHalfUsed, ReceiveWindow } from "./receive-window.ts";
import { MAX_WINDOW_BYTES, widenWindow } from "./send-window.ts";

describe("widenWindow()", () => {
  it.each([
    [0, 1, 1],
    [-100, 50, -50],
    [65_535, -65_535, 0],
    [10, -30, -20],
    [0, MAX_WINDOW_BYTES, MAX_WINDOW_BYTES],
    [1, MAX_WINDOW_BYTES, undefined],
    [MAX_WINDOW_BYTES, 1, undefined],
  ])("of %i by %i is %s", (window, increment, expected) => {
    expect(widenWindow(window, increment)).toBe(expected);
  });
});

describe("ReceiveWindow", () => {
  it("is widened by what was used, when that is half of it", () => {
    const window = new ReceiveWindow(1000);
    expect([window.use(499), window.use(0), window.use(1), window.use(499), window.use(300)]).toEqual([
      0, 0, 500, 0, 799,
    ]);
  });
});

describe("isHalfUsed()", () => {
  it("is true from half of the window on", () => {
    expect([isHalfUsed(32_767, 65_535), isHalfUsed(32_768, 65_535)]).toEqual([false, true]);
  });
});
