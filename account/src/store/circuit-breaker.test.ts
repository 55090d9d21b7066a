import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";

const OPTIONS = { failuresMax: 3, openMs: 2000 };

function fixture(): { breaker: CircuitBreaker; advance(ms: number): void; fail(count: number): void } {
  let nowMs = 0;
  const breaker = new CircuitBreaker(() => nowMs, OPTIONS);
  return {
    breaker,
    advance: (ms) => (nowMs += ms),
    fail: (count) => {
      for (let index = 0; index < count; index++) breaker.failed();
    },
  };
}

describe("CircuitBreaker", () => {
  it("admits calls until as many as allowed have failed in a row", () => {
    const { breaker, fail } = fixture();
    fail(2);
    breaker.succeeded();
    fail(2);
    expect(breaker.admits()).toBe(true);
    fail(1);
    expect(breaker.admits()).toBe(false);
  });

  it("admits nothing while it is open, then one call at a time", () => {
    const { breaker, advance, fail } = fixture();
    fail(3);
    advance(1999);
    expect(breaker.admits()).toBe(false);
    advance(1);
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
  });

  it("stays open for as long again when that call fails, and closes when it succeeds", () => {
    const { breaker, advance, fail } = fixture();
    fail(3);
    advance(2000);
    breaker.admits();
    fail(1);
    expect(breaker.admits()).toBe(false);
    advance(2000);
    expect(breaker.admits()).toBe(true);
    breaker.succeeded();
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
  });
});
