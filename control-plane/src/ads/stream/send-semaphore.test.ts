// Tests of send-semaphore.ts under a clock that the test moves.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { SendSemaphore } from "./send-semaphore.ts";

describe("SendPermit", () => {
  let semaphore: SendSemaphore;
  let begun: string[];

  /** Requests a permit under a name; returns what gives it back. */
  function ask(name: string): () => void {
    const permit = semaphore.permit(() => begun.push(name));
    permit.request();
    return () => permit.release();
  }

  beforeEach(() => {
    vi.useFakeTimers();
    semaphore = new SendSemaphore({ sends: 4, permitMaxMs: 1000 });
    begun = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("begins immediately while there are permits, and then in the order of asking", () => {
    const permits = ["a", "b", "c", "d", "e", "f"].map((name) => ask(name));
    expect(begun).toEqual(["a", "b", "c", "d"]);
    permits[1]?.();
    expect(begun).toEqual(["a", "b", "c", "d", "e"]);
    permits[0]?.();
    expect(begun).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  it("takes a permit back from one that does not finish, once", () => {
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
      const permit = semaphore.permit(() => {
        released += 1;
        permit.release();
      });
      permit.request();
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

  it("has 32 permits, each for a quarter of a second, by default", () => {
    semaphore = new SendSemaphore();
    for (let count = 1; count <= 33; count += 1) ask(String(count));
    expect([begun.length, begun.at(-1)]).toEqual([32, "32"]);
    vi.advanceTimersByTime(249);
    expect(begun).toHaveLength(32);
    vi.advanceTimersByTime(1);
    expect(begun).toHaveLength(33);
  });
});
