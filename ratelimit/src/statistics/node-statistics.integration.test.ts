// Statistics of the process: measured when they are read, and believable.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { NodeStatistics } from "./node-statistics.ts";
import { StatisticsStore } from "./statistics-store.ts";

describe("NodeStatistics", () => {
  let store: StatisticsStore;
  let nowMs: number;
  let stop: () => unknown;

  beforeEach(async () => {
    store = new StatisticsStore({ maxDynamicKeys: 1 });
    nowMs = 0;
    const part = new NodeStatistics({ store, nowMs: () => nowMs });
    part.start();
    stop = () => part.stop();
  });

  afterEach(() => stop());

  function read(): void {
    store
      .walk({ counter: () => undefined, rule: () => undefined, gauge: () => undefined, timer: () => undefined })
      .toArray();
  }

  const gauge = (name: string): number => store.gauge(`ratelimit.node.${name}`).value;
  const counter = (name: string): number => store.counter(`ratelimit.node.${name}`).value;

  /** Blocks the event loop until the statistics of a period show it. */
  async function block(): Promise<void> {
    let isBlocked = false;
    const measure = (): number => {
      isBlocked = !isBlocked; // The delay is sampled between a block and a reading, and after a reading.
      if (isBlocked) {
        const endMs = performance.now() + 150;
        while (performance.now() < endMs);
      } else {
        nowMs += 1000;
        read();
      }
      return gauge("event_loop_lag_max_seconds");
    };
    await expect.poll(measure, { timeout: 30_000, interval: 50 }).toBeGreaterThan(0.1);
  }

  it("walk() measures memory, processor and event loop", async () => {
    expect(gauge("memory_resident_bytes")).toBe(0);
    await block();
    expect(gauge("memory_resident_bytes")).toBeGreaterThan(20_000_000);
    expect(gauge("memory_heap_used_bytes")).toBeGreaterThan(1_000_000);
    expect(gauge("memory_heap_total_bytes")).toBeGreaterThanOrEqual(gauge("memory_heap_used_bytes"));
    expect(counter("cpu_milliseconds")).toBeGreaterThan(50);
    expect(gauge("event_loop_utilization_ratio")).toBeGreaterThan(0);
    expect(gauge("event_loop_utilization_ratio")).toBeLessThanOrEqual(1);
    expect(gauge("event_loop_lag_max_seconds")).toBeGreaterThan(0.1);
    expect(gauge("event_loop_lag_max_seconds")).toBeGreaterThanOrEqual(gauge("event_loop_lag_p99_seconds"));
    expect(gauge("event_loop_lag_p99_seconds")).toBeGreaterThanOrEqual(gauge("event_loop_lag_mean_seconds"));
  });

  it("walk() measures the event loop anew after a second, and not for every reader", async () => {
    await block();
    const maxSeconds = gauge("event_loop_lag_max_seconds");
    nowMs += 999;
    read();
    expect(gauge("event_loop_lag_max_seconds")).toBe(maxSeconds);
    nowMs += 1;
    read();
    expect(gauge("event_loop_lag_max_seconds")).toBeLessThan(maxSeconds);
  });

  it("walk() counts collections of garbage", async () => {
    let rubbish: unknown[] = [];
    await expect
      .poll(
        () => {
          for (let count = 0; count < 100_000; count++) rubbish.push({ count });
          rubbish = [];
          return counter("gc_runs");
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(0);
  });

  it("stop() ends measuring", () => {
    stop();
    read();
    expect(gauge("memory_resident_bytes")).toBe(0);
  });
});
