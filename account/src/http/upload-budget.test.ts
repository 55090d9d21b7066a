import { describe, expect, it } from "vitest";
import { UploadBudget } from "./upload-budget.ts";

describe("UploadBudget", () => {
  it("take() refuses what is too much for all together, and release() gives back once", () => {
    const budget = new UploadBudget(10);
    const first = budget.open();
    const second = budget.open();
    expect([first.take(4), first.take(2), second.take(4), second.take(1)]).toEqual([true, true, true, false]);
    first.release();
    first.release();
    expect([second.take(7), second.take(6), second.take(1)]).toEqual([false, true, false]);
  });
});
