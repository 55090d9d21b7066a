// Tests of send-budget.ts under a clock that the test moves.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createSendBudget, type SendBudget } from "./send-budget.ts";

describe("SendShare", () => {
  let budget: SendBudget;
  let begun: string[];

  /** Asks for a share in the name of somebody; returns what gives it back. */
  function ask(name: string, bytes: number): () => void {
    const share = budget.share(bytes, () => begun.push(name));
    share.request();
    return () => share.release();
  }

  beforeEach(() => {
    vi.useFakeTimers();
    budget = createSendBudget({ bytes: 100, sends: 4, shareMaxMs: 1000 });
    begun = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("begins at once while there is room, and then in the order of asking", () => {
    const [first, second] = [ask("first", 60), ask("second", 40)];
    ask("third", 50);
    ask("fourth", 10);
    expect(begun).toEqual(["first", "second"]);
    second();
    expect(begun).toEqual(["first", "second"]); // 40 bytes are free, and the fourth does not overtake the third.
    first();
    expect(begun).toEqual(["first", "second", "third", "fourth"]);
  });

  it("lets what is larger than the whole budget go alone", () => {
    const small = ask("small", 1);
    const large = ask("large", 500);
    ask("next", 1);
    small();
    expect(begun).toEqual(["small", "large"]);
    large();
    expect(begun).toEqual(["small", "large", "next"]);
  });

  it("begins no more than so many at a time, however small they are", () => {
    const shares = ["a", "b", "c", "d", "e", "f"].map((name) => ask(name, 1));
    expect(begun).toEqual(["a", "b", "c", "d"]);
    shares[1]?.();
    expect(begun).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("takes a share back from one that does not finish, once", () => {
    const slow = ask("slow", 100);
    ask("next", 100);
    vi.advanceTimersByTime(999);
    expect(begun).toEqual(["slow"]);
    vi.advanceTimersByTime(1);
    expect(begun).toEqual(["slow", "next"]);
    slow();
    ask("last", 1);
    expect(begun).toEqual(["slow", "next"]);
  });

  it("forgets one that stops waiting", () => {
    const first = ask("first", 100);
    const gone = ask("gone", 100);
    ask("last", 100);
    gone();
    gone();
    first();
    expect(begun).toEqual(["first", "last"]);
  });

  it("has 32 sends, 64 MiB and a second when nobody says otherwise", () => {
    budget = createSendBudget();
    for (let count = 1; count <= 33; count += 1) ask(`small ${count}`, 1);
    expect([begun.length, begun.at(-1)]).toEqual([32, "small 32"]);
    vi.advanceTimersByTime(999);
    expect(begun).toHaveLength(32);
    vi.advanceTimersByTime(1);
    expect(begun).toHaveLength(33);
    vi.advanceTimersByTime(1000);
    const half = 32 * 1024 * 1024;
    for (const [name, bytes] of [
      ["half", half],
      ["other half", half],
      ["more", 1],
    ] as const)
      ask(name, bytes);
    expect(begun.slice(33)).toEqual(["half", "other half"]);
  });
});
