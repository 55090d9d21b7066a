// Tests of concurrency-limit.ts: how many answers may be under way, and for how long. With real clients:
// rollout-api.integration.test.ts.
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ConcurrencyLimit } from "./concurrency-limit.ts";

const noop = (): void => undefined;

describe("ConcurrencyLimit", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("refuses one answer more than may be under way, in clear words, and admits the next when one has ended, each counted once", () => {
    const bound = new ConcurrencyLimit({ max: 2, task: "report the rollout" });
    const first = bound.admit(noop);
    bound.admit(noop);
    expect(() => bound.admit(noop)).toThrow(
      expect.objectContaining({
        code: "ANSWERS_EXCEEDED",
        message:
          "Cannot report the rollout: 2 answers are on their way to clients that have not read them yet; ask again in a moment",
      }),
    );
    first();
    first();
    bound.admit(noop);
    expect(() => bound.admit(noop)).toThrow("Cannot report the rollout");
  });

  it("cuts off a client that has not read its answer within thirty seconds, and none that has", () => {
    const bound = new ConcurrencyLimit({ max: 2, task: "report the rollout" });
    const [cutRead, cutStuck] = [vi.fn(), vi.fn()];
    bound.admit(cutRead)();
    bound.admit(cutStuck);
    vi.advanceTimersByTime(29_999);
    expect(cutStuck).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([cutRead.mock.calls.length, cutStuck.mock.calls.length]).toEqual([0, 1]);
  });

  it("counts an answer over HTTP until it closes, and none of a transport that hides it", () => {
    const bound = new ConcurrencyLimit({ max: 1, task: "report the rollout" });
    for (let count = 0; count < 3; count += 1) bound.admitResponse(undefined);
    const response = Object.assign(new EventEmitter(), { destroy: () => response.emit("close") });
    bound.admitResponse(response as unknown as ServerResponse);
    expect(() => bound.admit(noop)).toThrow("Cannot report the rollout");
    vi.advanceTimersByTime(30_000);
    bound.admit(noop);
  });
});
