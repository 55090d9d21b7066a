// Order of start and stop, the common deadline, and what happens when a part fails or a stop comes
// early.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { silentLog } from "../log/log.ts";
import { Lifecycle, type Part, runUntilAborted } from "./lifecycle.ts";

/** The events of the parts, in order. */
let events: string[] = [];

function part(name: string, overrides: Partial<Part> = {}): Part {
  return {
    name,
    start: () => void events.push(`start ${name}`),
    stop: () => void events.push(`stop ${name}`),
    ...overrides,
  };
}

function lifecycleOf(parts: readonly Part[], stopTimeoutMs = 10_000): Lifecycle {
  const lifecycle = new Lifecycle({ log: silentLog() }, { stopTimeoutMs });
  for (const one of parts) lifecycle.add(one);
  return lifecycle;
}

/**
 * A part whose start runs until stop is called, as a pod that waits for its first configuration.
 */
function waitingPart(name: string): Part {
  const waiting = Promise.withResolvers<undefined>();
  return part(name, {
    start: () => {
      events.push(`start ${name}`);
      return waiting.promise;
    },
    stop: () => {
      events.push(`stop ${name}`);
      waiting.reject(new Error("stopped while waiting"));
    },
  });
}

beforeEach(() => {
  events = [];
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("Lifecycle.start()", () => {
  it("start() starts each part after the one before it works when it is called", async () => {
    const slow = Promise.withResolvers<undefined>();
    const lifecycle = lifecycleOf([
      part("store", {
        start: async () => {
          events.push("start store");
          await slow.promise;
          events.push("store works");
        },
      }),
      part("listener"),
    ]);
    const started = lifecycle.start();
    expect(events).toEqual(["start store"]);
    slow.resolve(undefined);
    await started;
    expect(events).toEqual(["start store", "store works", "start listener"]);
  });

  it("start() stops what was started, in reverse order, when a part fails", async () => {
    const failure = new Error("no port");
    const lifecycle = lifecycleOf([
      part("a"),
      part("b"),
      part("c", { start: () => Promise.reject(failure) }),
      part("d"),
    ]);
    await expect(lifecycle.start()).rejects.toBe(failure);
    expect(events).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  it("start() fails with the part's own error when the stop after it fails too", async () => {
    const failure = new Error("no port");
    const lifecycle = lifecycleOf([
      part("a", { stop: () => Promise.reject(new Error("stuck")) }),
      part("b", {
        start: () => {
          throw failure;
        },
      }),
    ]);
    await expect(lifecycle.start()).rejects.toBe(failure);
  });

  it("start() accepts parts without start and stop when there is nothing to do", async () => {
    const lifecycle = lifecycleOf([{ name: "nothing" }]);
    await lifecycle.start();
    await expect(lifecycle.stop()).resolves.toBeUndefined();
  });

  it("start() is refused when it was called before", async () => {
    const lifecycle = lifecycleOf([]);
    await lifecycle.start();
    await expect(lifecycle.start()).rejects.toThrow("Cannot start: the lifecycle is running");
  });

  it("add() is refused when the start has begun", async () => {
    const lifecycle = lifecycleOf([]);
    await lifecycle.start();
    expect(() => lifecycle.add(part("late"))).toThrow("Cannot add late: the lifecycle is running");
  });
});

describe("Lifecycle.stop()", () => {
  it("stop() stops each part in reverse order after the one behind it ended when it is called", async () => {
    const slow = Promise.withResolvers<undefined>();
    const lifecycle = lifecycleOf([
      part("store"),
      part("listener", {
        stop: async () => {
          events.push("stop listener");
          await slow.promise;
          events.push("listener ended");
        },
      }),
    ]);
    await lifecycle.start();
    events = [];
    const stopped = lifecycle.stop();
    expect(events).toEqual(["stop listener"]);
    slow.resolve(undefined);
    await stopped;
    expect(events).toEqual(["stop listener", "listener ended", "stop store"]);
  });

  it("stop() stops every part once when it is called twice", async () => {
    const lifecycle = lifecycleOf([part("a")]);
    await lifecycle.start();
    await Promise.all([lifecycle.stop(), lifecycle.stop()]);
    expect(events).toEqual(["start a", "stop a"]);
  });

  it("stop() stops every part once when a part calls it again", async () => {
    const lifecycle = lifecycleOf([
      part("a"),
      part("b", {
        stop: () => {
          events.push("stop b");
          void lifecycle.stop();
        },
      }),
    ]);
    await lifecycle.start();
    await lifecycle.stop();
    expect(events).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  it("stop() gives every part its turn and names those that failed when some fail", async () => {
    const lifecycle = lifecycleOf([
      part("a", { stop: () => Promise.reject(new Error("disk full")) }),
      part("b"),
      part("c", {
        stop: () => {
          throw new Error("gone");
        },
      }),
    ]);
    await lifecycle.start();
    await expect(lifecycle.stop()).rejects.toMatchObject({
      code: "STOP_INCOMPLETE",
      message: "Cannot stop cleanly: c: gone; a: disk full",
    });
    expect(events).toEqual(["start a", "start b", "start c", "stop b"]);
  });

  it("stop() shares one deadline among all parts when some never end", async () => {
    const never = (): Promise<void> => Promise.withResolvers<never>().promise;
    const lifecycle = lifecycleOf([part("a"), part("b", { stop: never }), part("c", { stop: never })], 5000);
    await lifecycle.start();
    const stopped = expect(lifecycle.stop()).rejects.toThrow(
      "Cannot stop cleanly: c did not stop within 5000 ms in all; b did not stop within 5000 ms in all",
    );
    await vi.advanceTimersByTimeAsync(4999);
    expect(events).not.toContain("stop a");
    await vi.advanceTimersByTimeAsync(2);
    await stopped;
    expect(events).toContain("stop a");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stop() makes a waiting start fail with START_INTERRUPTED and stops that part first", async () => {
    const lifecycle = lifecycleOf([part("debug listener"), waitingPart("configuration"), part("gRPC listener")]);
    const started = lifecycle.start();
    await vi.advanceTimersByTimeAsync(0);
    const [startResult] = await Promise.allSettled([started, lifecycle.stop()]);
    expect(startResult).toMatchObject({ status: "rejected", reason: { code: "START_INTERRUPTED" } });
    expect(events).toEqual([
      "start debug listener",
      "start configuration",
      "stop configuration",
      "stop debug listener",
    ]);
  });

  it("stop() before start leaves nothing to start", async () => {
    const lifecycle = lifecycleOf([part("a")]);
    await lifecycle.stop();
    await expect(lifecycle.start()).rejects.toMatchObject({ code: "START_INTERRUPTED" });
    expect(events).toEqual([]);
  });
});

describe("runUntilAborted()", () => {
  it("runUntilAborted() starts, waits and stops when the signal comes later", async () => {
    const abort = new AbortController();
    const run = runUntilAborted(lifecycleOf([part("a"), part("b")]), abort.signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(events).toEqual(["start a", "start b"]);
    abort.abort();
    await run;
    expect(events).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  it("runUntilAborted() ends without an error when the signal interrupts the start", async () => {
    const abort = new AbortController();
    const run = runUntilAborted(lifecycleOf([part("a"), waitingPart("configuration")]), abort.signal);
    await vi.advanceTimersByTimeAsync(0);
    abort.abort();
    await expect(run).resolves.toBeUndefined();
    expect(events).toEqual(["start a", "start configuration", "stop configuration", "stop a"]);
  });

  it("runUntilAborted() starts nothing when the signal was there before", async () => {
    await runUntilAborted(lifecycleOf([part("a")]), AbortSignal.abort());
    expect(events).toEqual([]);
  });

  it("runUntilAborted() fails immediately when a part does not start", async () => {
    const failure = new Error("no port");
    const run = runUntilAborted(
      lifecycleOf([part("a", { start: () => Promise.reject(failure) })]),
      new AbortController().signal,
    );
    await expect(run).rejects.toBe(failure);
  });

  it("runUntilAborted() fails when a part does not stop", async () => {
    const abort = new AbortController();
    const run = runUntilAborted(
      lifecycleOf([part("a", { stop: () => Promise.reject(new Error("stuck")) })]),
      abort.signal,
    );
    const failed = expect(run).rejects.toMatchObject({ code: "STOP_INCOMPLETE" });
    await vi.advanceTimersByTimeAsync(0);
    abort.abort();
    await failed;
  });
});
