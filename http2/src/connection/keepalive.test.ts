// Tests of what time does to a connection.
import { describe, expect, it } from "vitest";

import { createCounters } from "../limits/counters.ts";
import { DEFAULT_LIMITS, type Http2Limits } from "../limits/limits.ts";
import { type ConnectionFacts, Keepalive } from "./keepalive.ts";

const QUIET: ConnectionFacts = {
  hasSettings: true,
  lastId: 1,
  reads: 1,
  isReading: true,
  framesRead: 1,
  partialBytes: 0,
  isUnsent: false,
  sends: 0,
};

function createUpkeep(limits: Partial<Http2Limits> = {}, maxAgeMs = Infinity) {
  const counters = createCounters();
  const keepalive = new Keepalive({ ...DEFAULT_LIMITS, ...limits }, counters, 0, maxAgeMs);
  /** Returns the actions at the times, in seconds, given facts that may depend on them. */
  const actions = (seconds: readonly number[], facts: (second: number) => Partial<ConnectionFacts> = () => ({})) =>
    seconds.map((second) => keepalive.check(second * 1000, { ...QUIET, ...facts(second) }));
  return { counters, actions };
}

describe("Keepalive", () => {
  it("does nothing with a connection that is read from", () => {
    const seconds = Array.from({ length: 1000 }, (_, second) => second);
    const { actions } = createUpkeep();
    expect(new Set(actions(seconds, (second) => ({ reads: second })))).toEqual(new Set(["nothing"]));
  });

  it("pings a quiet connection once, and closes it without an answer", () => {
    const { actions, counters } = createUpkeep();
    expect(actions([0, 29, 30, 31, 49, 50])).toEqual(["nothing", "nothing", "ping", "nothing", "nothing", "destroy"]);
    expect(counters.keepAliveTimeouts).toBe(1);
  });

  it("pings again when the answer was received", () => {
    const { actions } = createUpkeep();
    const answered = (second: number) => ({ reads: second < 35 ? 1 : 2 });
    expect(actions([0, 30, 35, 64, 65], answered)).toEqual(["nothing", "ping", "nothing", "nothing", "ping"]);
  });

  it("drains a connection at its age, and closes it after the time of grace", () => {
    const { actions, counters } = createUpkeep({ connectionAgeGraceMs: 5000 }, 20_000);
    const read = (second: number) => ({ reads: second });
    expect(actions([19, 20, 24, 25], read)).toEqual(["nothing", "drain", "nothing", "destroy"]);
    expect(counters.ageCloses).toBe(1);
  });

  it("closes a connection whose output makes no progress", () => {
    const { actions, counters } = createUpkeep({ stallTimeoutMs: 10_000 });
    const unsent = (second: number) => ({ isUnsent: true, sends: second < 5 ? 1 : 2, reads: second });
    expect(actions([0, 5, 14, 15], unsent)).toEqual(["nothing", "nothing", "nothing", "destroy"]);
    expect(counters.connectionStalls).toBe(1);
  });

  it("measures a stall from when output is unsent again", () => {
    const { actions } = createUpkeep({ stallTimeoutMs: 10_000 });
    const unsent = (second: number) => ({ isUnsent: second !== 9, sends: 1, reads: second });
    expect(actions([0, 9, 10, 19, 20], unsent)).toEqual(["nothing", "nothing", "nothing", "nothing", "destroy"]);
  });

  it("closes a connection in the middle of a frame", () => {
    const { actions } = createUpkeep({ stallTimeoutMs: 10_000 });
    const dripping = (second: number) => ({ partialBytes: second + 1, reads: second });
    expect(actions([0, 9, 10], dripping)).toEqual(["nothing", "nothing", "destroy"]);
  });

  it("gives a connection time for its preface and its first request", () => {
    expect(createUpkeep().actions([9, 10], () => ({ hasSettings: false, lastId: 0 }))).toEqual(["nothing", "destroy"]);
    const { actions } = createUpkeep({ firstRequestTimeoutMs: 60_000 });
    const unused = (second: number) => ({ lastId: 0, reads: second });
    expect(actions([59, 60, 61], unused)).toEqual(["nothing", "drain", "nothing"]);
  });
});
