// Tests of concurrency-limit.ts: how many answers may be under way, and for how long. With real clients:
// rollout-api.integration.test.ts.
import { EventEmitter } from "node:events";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ConcurrencyLimit } from "./concurrency-limit.ts";

/** An answer in the hands of the test. */
class FakeAnswer extends EventEmitter {
  cuts = 0;

  end(): void {
    this.emit("close");
  }
}

function cut(answer: FakeAnswer): void {
  answer.cuts += 1;
  answer.end();
}

describe("ConcurrencyLimit", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("refuses one answer more than may be under way, in clear words, and admits the next when one has ended, each counted once", () => {
    const bound = new ConcurrencyLimit({ max: 2, task: "report the rollout" });
    const [first, second, third] = [new FakeAnswer(), new FakeAnswer(), new FakeAnswer()];
    bound.admit(first, cut);
    bound.admit(second, cut);
    expect(() => bound.admit(third, cut)).toThrow(
      expect.objectContaining({
        code: "ANSWERS_EXCEEDED",
        message:
          "Cannot report the rollout: 2 answers are on their way to clients that have not read them yet; ask again in a moment",
      }),
    );
    first.end();
    first.end();
    bound.admit(third, cut);
    expect(() => bound.admit(new FakeAnswer(), cut)).toThrow("Cannot report the rollout");
  });

  it("cuts off a client that has not read its answer within thirty seconds, and none that has", () => {
    const bound = new ConcurrencyLimit({ max: 2, task: "report the rollout" });
    const [read, stuck] = [new FakeAnswer(), new FakeAnswer()];
    bound.admit(read, cut);
    bound.admit(stuck, cut);
    read.end();
    vi.advanceTimersByTime(29_999);
    expect([read.cuts, stuck.cuts]).toEqual([0, 0]);
    vi.advanceTimersByTime(1);
    expect([read.cuts, stuck.cuts]).toEqual([0, 1]);
    for (let count = 0; count < 2; count += 1) bound.admit(new FakeAnswer(), cut);
  });

  it("counts nothing where it is not told of the end", () => {
    const bound = new ConcurrencyLimit({ max: 1, task: "report the rollout" });
    for (let count = 0; count < 3; count += 1) bound.admit(undefined, cut);
    bound.admit(new FakeAnswer(), cut);
    expect(() => bound.admit(new FakeAnswer(), cut)).toThrow("Cannot report the rollout");
  });
});
