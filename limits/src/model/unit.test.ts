// Tests of the units of time.
import { describe, expect, it } from "vitest";

import { parseUnit, UNIT_NUMBERS, UNIT_SECONDS, unitOfNumber, windowSecondsOf } from "./unit.ts";

describe("parseUnit()", () => {
  it.each([
    ["second", "SECOND"],
    ["MINUTE", "MINUTE"],
    ["Hour", "HOUR"],
    ["dAy", "DAY"],
    ["WEEK", "WEEK"],
    ["Month", "MONTH"],
    ["year", "YEAR"],
  ])("names the unit of %j", (text, unit) => {
    expect(parseUnit(text)).toBe(unit);
  });

  it.each(["", "unknown", "UNKNOWN", "seconds", " second", "s", "1", "toString", "__proto__"])("refuses %j", (text) => {
    expect(parseUnit(text)).toBeUndefined();
  });
});

describe("unitOfNumber()", () => {
  it.each([
    [1, "SECOND"],
    [2, "MINUTE"],
    [3, "HOUR"],
    [4, "DAY"],
    [5, "MONTH"],
    [6, "YEAR"],
    [7, "WEEK"],
  ])("names the unit with the number %d", (number, unit) => {
    expect(unitOfNumber(number)).toBe(unit);
  });

  it.each([0, 8, -1, 1.5, NaN])("names none for %d", (number) => {
    expect(unitOfNumber(number)).toBeUndefined();
  });
});

describe("UNIT_NUMBERS", () => {
  it("is the inverse of unitOfNumber()", () => {
    expect(Object.values(UNIT_NUMBERS).map((number) => unitOfNumber(number))).toEqual(Object.keys(UNIT_NUMBERS));
  });
});

describe("windowSecondsOf()", () => {
  it.each([
    ["MINUTE", 1, 60],
    ["MINUTE", 5, 300],
    ["SECOND", 30, 30],
    ["WEEK", 2, 1_209_600],
    ["YEAR", 10, 315_360_000],
    ["YEAR", 11, undefined],
    ["SECOND", 315_360_001, undefined],
  ] as const)("has %s × %d in seconds", (unit, multiplier, seconds) => {
    expect(windowSecondsOf(unit, multiplier)).toBe(seconds);
  });
});

describe("UNIT_SECONDS", () => {
  it("has months of 30 days and years of 365", () => {
    expect(UNIT_SECONDS).toEqual({
      SECOND: 1,
      MINUTE: 60,
      HOUR: 3600,
      DAY: 86400,
      WEEK: 604800,
      MONTH: 2592000,
      YEAR: 31536000,
    });
  });
});
