import { describe, expect, it } from "vitest";
import { UploadBudget } from "./upload-budget.ts";

describe("UploadBudget", () => {
  const create = (): UploadBudget => new UploadBudget({ maxBytes: 10, uploadMaxBytes: 4 }, () => new Error("busy"));

  it("take() refuses what is too much for all together, and release() gives back once", () => {
    const budget = create();
    const first = budget.open(["a"], new AbortController());
    const second = budget.open(["b"], new AbortController());
    expect([first.take(4), first.take(2), second.take(4), second.take(3)]).toEqual([true, true, true, false]);
    first.release();
    first.release();
    expect([second.take(7), second.take(6), second.take(1)]).toEqual([false, true, false]);
  });

  it("take() aborts the largest upload of the network that holds more than the caller's would", () => {
    const budget = create();
    const calls = ["a1", "a2", "a3", "b"].map((name) => ({ name, call: new AbortController() }));
    const holds = calls.map(({ name, call }) => budget.open([name.charAt(0), name], call));
    expect(holds.slice(0, 3).map((hold) => hold.take(3))).toEqual([true, true, true]);
    expect([holds[3]?.take(2), holds[3]?.take(2), holds[3]?.take(3)]).toEqual([true, true, false]);
    expect(calls.filter(({ call }) => call.signal.aborted).map(({ name }) => name)).toEqual(["a3"]);
  });

  it("take() refuses one more upload while nobody has more than one", () => {
    const budget = create();
    const calls = ["a", "b", "c"].map((name) => ({ name, call: new AbortController() }));
    const [first, second, third] = calls.map(({ name, call }) => budget.open([name], call));
    expect([first?.take(4), second?.take(4), third?.take(1), third?.take(2)]).toEqual([true, true, true, false]);
    expect(calls.some(({ call }) => call.signal.aborted)).toBe(false);
  });
});
