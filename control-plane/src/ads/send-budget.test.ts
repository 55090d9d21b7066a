// Tests of send-budget.ts under a clock that the test moves.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createSendBudget, type SendBudget } from "./send-budget.ts";

describe("SendShare", () => {
  let budget: SendBudget;
  let begun: string[];

  /** Asks for a share in the name of somebody; returns what gives it back. */
  function ask(name: string): () => void {
    const share = budget.share(() => begun.push(name));
    share.request();
    return () => share.release();
  }

  beforeEach(() => {
    vi.useFakeTimers();
    budget = createSendBudget({ sends: 4, shareMaxMs: 1000 });
    begun = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("begins at once while there are shares, and then in the order of asking", () => {
    const shares = ["a", "b", "c", "d", "e", "f"].map((name) => ask(name));
    expect(begun).toEqual(["a", "b", "c", "d"]);
    shares[1]?.();
    expect(begun).toEqual(["a", "b", "c", "d", "e"]);
    shares[0]?.();
    expect(begun).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  it("takes a share back from one that does not finish, once", () => {
    const slow = ["a", "b", "c", "d"].map((name) => ask(name));
    ask("next");
    vi.advanceTimersByTime(999);
    expect(begun).toEqual(["a", "b", "c", "d"]);
    vi.advanceTimersByTime(1);
    expect(begun).toEqual(["a", "b", "c", "d", "next"]);
    for (const name of ["e", "f", "g"]) ask(name);
    for (const release of slow) release();
    ask("last");
    expect(begun).toEqual(["a", "b", "c", "d", "next", "e", "f", "g"]);
  });

  it("goes through ten thousand that have nothing to send any more when their turn comes", () => {
    const first = ["a", "b", "c", "d"].map((name) => ask(name))[0];
    let released = 0;
    for (let count = 0; count < 10_000; count += 1) {
      const share = budget.share(() => {
        released += 1;
        share.release();
      });
      share.request();
    }
    ask("last");
    first?.();
    expect([released, begun.at(-1)]).toEqual([10_000, "last"]);
  });

  it("forgets one that stops waiting", () => {
    const first = ["a", "b", "c", "d"].map((name) => ask(name))[0];
    const gone = ask("gone");
    ask("last");
    gone();
    gone();
    first?.();
    expect(begun).toEqual(["a", "b", "c", "d", "last"]);
  });

  it("has 32 shares, each for a quarter of a second, when nobody says otherwise", () => {
    budget = createSendBudget();
    for (let count = 1; count <= 33; count += 1) ask(String(count));
    expect([begun.length, begun.at(-1)]).toEqual([32, "32"]);
    vi.advanceTimersByTime(249);
    expect(begun).toHaveLength(32);
    vi.advanceTimersByTime(1);
    expect(begun).toHaveLength(33);
  });
});
