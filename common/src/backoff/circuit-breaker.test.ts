import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";

function breaker(): { readonly breaker: CircuitBreaker; advance(ms: number): void } {
  let nowMs = 1_000_000;
  return {
    breaker: new CircuitBreaker({ monotonicMs: () => nowMs }, { failuresMax: 3, openMs: 5000 }),
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

function failures(of: CircuitBreaker, count: number): boolean[] {
  return Array.from({ length: count }, () => of.failed());
}

describe("CircuitBreaker", () => {
  it("skips calls after three failures in a row", () => {
    const { breaker: tested } = breaker();
    expect(failures(tested, 2)).toEqual([false, false]);
    expect(tested.mayCall()).toBe(true);
    expect(tested.failed()).toBe(true);
    expect(tested.mayCall()).toBe(false);
  });

  it("starts again after an answer", () => {
    const { breaker: tested } = breaker();
    failures(tested, 2);
    tested.succeeded();
    expect(failures(tested, 3)).toEqual([false, false, true]);
  });

  it("lets one call through after five seconds, and all after its answer", () => {
    const { breaker: tested, advance } = breaker();
    failures(tested, 3);
    advance(4999);
    expect(tested.mayCall()).toBe(false);
    advance(1);
    expect([tested.mayCall(), tested.mayCall()]).toEqual([true, false]);
    tested.succeeded();
    expect([tested.mayCall(), tested.mayCall()]).toEqual([true, true]);
  });

  it("skips calls for another five seconds when that call fails", () => {
    const { breaker: tested, advance } = breaker();
    failures(tested, 3);
    advance(5000);
    tested.mayCall();
    expect(tested.failed()).toBe(true);
    advance(4999);
    expect(tested.mayCall()).toBe(false);
    advance(1);
    expect(tested.mayCall()).toBe(true);
  });

  it("does not wait longer because of calls that started before", () => {
    const { breaker: tested, advance } = breaker();
    failures(tested, 3);
    advance(4000);
    expect(tested.failed()).toBe(false);
    advance(1000);
    expect(tested.mayCall()).toBe(true);
  });
});
