// Tests that every statistics sink must pass.
import { afterEach, describe, expect, it } from "vitest";
import type { StatisticsSink } from "./statistics-sink.ts";
import { StatisticsStore } from "./statistics-store.ts";

/** Longest wait for something to arrive, in milliseconds. */
const WAIT = { timeout: 30_000 };

/** A sink under test, and what its receiver has got from it by now. */
export interface OpenedSink {
  readonly sink: StatisticsSink;
  /** The pattern of its address; undefined when it has none. */
  readonly address?: RegExp | undefined;
  /** True for a sink that is asked: what it has not reported when it stops is lost. */
  readonly isPull?: boolean;
  /**
   * The total of a counter, the value of a gauge or the count of a timer as the receiver knows it;
   * undefined when it knows none.
   */
  received(name: string): Promise<number | undefined>;
  /** Ends the receiver. */
  close(): Promise<void>;
}

/** The tests, over a sink that `open` makes for a store. */
export function describeSink(name: string, open: (store: StatisticsStore) => Promise<OpenedSink>): void {
  describe(`StatisticsSink: ${name}`, () => {
    let opened: OpenedSink | undefined;
    const start = async (): Promise<{ store: StatisticsStore; received: OpenedSink["received"] }> => {
      const store = new StatisticsStore({ maxDynamicKeys: 10 });
      opened = await open(store);
      await opened.sink.start?.();
      const { received } = opened;
      return { store, received };
    };
    afterEach(async () => {
      await opened?.sink.stop?.();
      await opened?.close();
      opened = undefined;
    });

    it("start() gives the sink its address", async () => {
      await start();
      expect(opened?.sink.address() ?? "none").toMatch(opened?.address ?? /^none$/);
    });

    it("start() delivers totals of counters, also when they grow later", async () => {
      const { store, received } = await start();
      store.counter("some.counter").add(2);
      await expect.poll(() => received("some.counter"), WAIT).toBe(2);
      store.counter("some.counter").add(3);
      await expect.poll(() => received("some.counter"), WAIT).toBe(5);
    });

    it("start() delivers the last value of a gauge", async () => {
      const { store, received } = await start();
      store.gauge("some.gauge").set(7);
      await expect.poll(() => received("some.gauge"), WAIT).toBe(7);
      store.gauge("some.gauge").set(4);
      await expect.poll(() => received("some.gauge"), WAIT).toBe(4);
    });

    it("start() delivers every duration of a timer", async () => {
      const { store, received } = await start();
      store.timer("some.timer").record(1.5);
      store.timer("some.timer").record(20);
      await expect.poll(() => received("some.timer"), WAIT).toBe(2);
    });

    it("start() delivers the counters of a rule", async () => {
      const { store, received } = await start();
      store.rule("domain.key_value").totalHits += 3;
      await expect.poll(() => received("ratelimit.service.rate_limit.domain.key_value.total_hits"), WAIT).toBe(3);
    });

    it("stop() delivers what was recorded just before, once", async () => {
      const { store, received } = await start();
      store.counter("some.counter").add(2);
      await expect.poll(() => received("some.counter"), WAIT).toBe(2);
      store.counter("some.counter").add(1);
      store.timer("some.timer").record(1);
      if (opened?.isPull !== true) await opened?.sink.stop?.();
      await expect.poll(() => received("some.counter"), WAIT).toBe(3);
      await expect.poll(() => received("some.timer"), WAIT).toBe(1);
    });

    it("stop() ends it, and statistics may still be recorded", async () => {
      const { store } = await start();
      await opened?.sink.stop?.();
      expect(() => {
        store.timer("some.timer").record(1);
        store.counter("some.counter").add(1);
      }).not.toThrow();
      await opened?.close();
      opened = undefined;
    });
  });
}
