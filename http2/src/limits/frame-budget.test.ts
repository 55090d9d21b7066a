// Tests of the budgets for frames without a call, and of the memory that connections share.
import { describe, expect, it } from "vitest";

import { ByteBudget } from "./byte-budget.ts";
import { createCounters } from "./counters.ts";
import { FrameBudget } from "./frame-budget.ts";
import { DEFAULT_LIMITS } from "./limits.ts";

const LIMITS = {
  ...DEFAULT_LIMITS,
  controlFramesMax: 10,
  controlFramesPerAnswer: 4,
  clientResetsMax: 5,
  streamErrorsMax: 3,
};

describe("FrameBudget", () => {
  it.each([
    ["control frames", 10, (budget: FrameBudget) => budget.spendControlFrame(), "controlFrameFloods"],
    ["resets", 5, (budget: FrameBudget) => budget.spendClientReset(), "resetFloods"],
    ["faulty streams", 3, (budget: FrameBudget) => budget.spendStreamError(), "streamErrorFloods"],
  ] as const)("allows so many %s: %i", (what, max, spend, counter) => {
    const counters = createCounters();
    const budget = new FrameBudget(LIMITS, counters);
    for (let spent = 0; spent < max; spent++) spend(budget);
    expect(() => spend(budget)).toThrow(`Too many ${what}`);
    expect(counters[counter]).toBe(1);
  });

  it("allows more control frames and resets for each answer, but no more faults", () => {
    const budget = new FrameBudget(LIMITS, createCounters());
    budget.earn();
    for (let spent = 0; spent < 14; spent++) budget.spendControlFrame();
    expect(() => budget.spendControlFrame()).toThrow("Too many control frames");
    for (let spent = 0; spent < 6; spent++) budget.spendClientReset();
    expect(() => budget.spendClientReset()).toThrow("Too many resets");
    for (let spent = 0; spent < 3; spent++) budget.spendStreamError();
    expect(() => budget.spendStreamError()).toThrow("Too many faulty streams");
  });

  it("begins anew with each window of time", () => {
    const budget = new FrameBudget({ ...LIMITS, frameWindowMs: 1000 }, createCounters());
    budget.tick(5000);
    for (let spent = 0; spent < 10; spent++) budget.spendControlFrame();
    budget.tick(5999);
    expect(() => budget.spendControlFrame()).toThrow("Too many control frames");
    budget.tick(6000);
    budget.spendControlFrame();
  });
});

describe("ByteBudget", () => {
  it("gives what is left, and takes what cannot be refused", () => {
    const budget = new ByteBudget(100);
    expect([budget.take(60), budget.take(41), budget.take(40)]).toEqual([true, false, true]);
    expect(budget.isExhausted).toBe(true);
    budget.takeAnyway(50);
    budget.give(60);
    expect(budget.usedBytes).toBe(90);
    expect(budget.isExhausted).toBe(false);
  });
});
