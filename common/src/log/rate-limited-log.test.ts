// Which lines a rate-limited log writes, under a clock that the test moves.
import { beforeEach, describe, expect, it } from "vitest";

import { silentLog } from "./log.ts";
import { RateLimitedLog } from "./rate-limited-log.ts";

describe("RateLimitedLog", () => {
  let lines: unknown[];
  let nowMs: number;

  beforeEach(() => {
    lines = [];
    nowMs = 1000;
  });

  function open(intervalMs: number): RateLimitedLog {
    const record =
      (level: string) =>
      (message: string, fields?: object): void =>
        void lines.push([level, message, fields]);
    const log = {
      ...silentLog(),
      debug: record("debug"),
      info: record("info"),
      warn: record("warn"),
      error: record("error"),
    };
    return new RateLimitedLog(log, { intervalMs, monotonicMs: () => nowMs });
  }

  it("warn() logs the first event immediately, and repeats once per interval with their number", () => {
    const log = open(10_000);
    for (nowMs of [1000, 1000, 5000, 10_999]) log.warn("Cannot connect", { at: nowMs });
    expect(lines).toEqual([["warn", "Cannot connect", { at: 1000 }]]);
    for (nowMs of [11_000, 12_000, 21_000]) log.warn("Cannot connect", { at: nowMs });
    expect(lines.slice(1)).toEqual([
      ["warn", "Cannot connect", { at: 11_000, repeats: 3 }],
      ["warn", "Cannot connect", { at: 21_000, repeats: 1 }],
    ]);
  });

  it("warn() adds no number when the event did not repeat within the interval", () => {
    const log = open(10_000);
    log.warn("Cannot connect", {});
    nowMs = 11_000;
    log.warn("Cannot connect", {});
    expect(lines).toEqual([
      ["warn", "Cannot connect", {}],
      ["warn", "Cannot connect", {}],
    ]);
  });

  it("debug(), info(), warn() and error() count each message separately", () => {
    const log = open(10_000);
    log.debug("One", {});
    log.info("Half", {});
    log.warn("Two", {});
    log.error("Three", {});
    expect(lines).toEqual([
      ["debug", "One", {}],
      ["info", "Half", {}],
      ["warn", "Two", {}],
      ["error", "Three", {}],
    ]);
  });

  it("debug() counts each key separately when keys are given", () => {
    const log = open(10_000);
    for (const rule of ["a", "b", "a"]) log.debug("A rule rejected a call", { rule }, rule);
    expect(lines).toEqual([
      ["debug", "A rule rejected a call", { rule: "a" }],
      ["debug", "A rule rejected a call", { rule: "b" }],
    ]);
  });

  it("warn() logs once when the interval is infinite", () => {
    const log = open(Infinity);
    for (nowMs of [1000, 1e9, 1e12]) log.warn("Cannot connect", {});
    expect(lines).toHaveLength(1);
  });

  it("recovered() logs once, and the event is logged immediately when it occurs again", () => {
    const log = open(Infinity);
    log.recovered("Connected again", {});
    log.warn("Cannot connect", {});
    log.recovered("Connected again", {});
    log.recovered("Connected again", {});
    log.warn("Cannot connect", {});
    expect(lines).toEqual([
      ["warn", "Cannot connect", {}],
      ["info", "Connected again", {}],
      ["warn", "Cannot connect", {}],
    ]);
  });

  it("clear() forgets one event, or all", () => {
    const log = open(Infinity);
    const warnBoth = (): void => {
      for (const message of ["Cannot connect", "Cannot read"]) log.warn(message, {});
    };
    warnBoth();
    log.clear("Cannot read");
    warnBoth();
    expect(lines).toEqual([
      ["warn", "Cannot connect", {}],
      ["warn", "Cannot read", {}],
      ["warn", "Cannot read", {}],
    ]);
    log.clear();
    warnBoth();
    expect(lines).toHaveLength(5);
  });

  it("warn() forgets the oldest event when there are too many", () => {
    const log = open(Infinity);
    for (let key = 0; key <= 10_000; key += 1) log.warn("Many", {}, String(key));
    log.warn("Many", {}, "10000");
    expect(lines).toHaveLength(10_001);
    log.warn("Many", {}, "0");
    expect(lines).toHaveLength(10_002);
  });
});
