// When the topology is asked for: regularly, sooner when something is wrong, and never in a storm.
import { createBackoff } from "@weir/common/backoff/backoff";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TopologyRefresh } from "./topology-refresh.ts";

/** A schedule whose questions are counted. */
class RefreshUnderTest {
  asked = 0;
  isAnswered = true;
  isTroubled = false;
  /** Set to let questions wait for an answer. */
  answer: Promise<void> | undefined;
  readonly refresh = new TopologyRefresh({
    refresh: async () => {
      this.asked += 1;
      await this.answer;
      return this.isAnswered;
    },
    isTroubled: () => this.isTroubled,
    startBackoff: createBackoff({ initialMs: 1000, maxMs: 4000, factor: 1, jitter: false, random: () => 0 }),
    random: () => 0,
  });

  /** How many questions come within so many milliseconds. */
  async askedWithin(ms: number): Promise<number> {
    const before = this.asked;
    await vi.advanceTimersByTimeAsync(ms);
    return this.asked - before;
  }
}

describe("TopologyRefresh", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("start() asks at once and then every 5 s while all is well", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    expect(running.asked).toBe(1);
    expect(await running.askedWithin(4999)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    expect(await running.askedWithin(20_000)).toBe(4);
  });

  it("start() backs off as the start is set to until there is an answer", async () => {
    const running = new RefreshUnderTest();
    running.isAnswered = false;
    running.refresh.start();
    expect(await running.askedWithin(999)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    expect(await running.askedWithin(1999)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    running.refresh.soon(); // Calls that wait for the topology do not hurry it.
    expect(await running.askedWithin(3999)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
  });

  it("it asks every second while a node is away or the answer fails", async () => {
    const running = new RefreshUnderTest();
    running.isTroubled = true;
    running.refresh.start();
    expect(await running.askedWithin(3000)).toBe(3);
    running.isTroubled = false;
    running.isAnswered = false;
    expect(await running.askedWithin(3000)).toBe(3);
  });

  it("soon() asks once in 250 ms however often it comes", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    await vi.advanceTimersByTimeAsync(1000);
    for (let times = 0; times < 1000; times++) running.refresh.soon();
    expect(await running.askedWithin(249)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    expect(await running.askedWithin(4999)).toBe(0);
  });

  it("soon() asks four times a second at most when it never ends", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    await vi.advanceTimersByTimeAsync(1);
    let asked = 0;
    for (let times = 0; times < 1000; times++) {
      running.refresh.soon();
      asked += await running.askedWithin(10);
    }
    expect(asked).toBeLessThanOrEqual(40);
    expect(asked).toBeGreaterThan(35);
  });

  it("soon() asks once more after the answer when a question is under way, and only one is at a time", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    await vi.advanceTimersByTimeAsync(1);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    running.answer = promise;
    expect(await running.askedWithin(60_000)).toBe(1);
    running.refresh.soon();
    expect(await running.askedWithin(60_000)).toBe(0);
    resolve(undefined);
    expect(await running.askedWithin(249)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
  });

  it("close() asks no more, also when an answer comes later", async () => {
    const running = new RefreshUnderTest();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    running.answer = promise;
    running.refresh.start();
    running.refresh.close();
    resolve(undefined);
    running.refresh.soon();
    expect(await running.askedWithin(60_000)).toBe(0);
  });
});
