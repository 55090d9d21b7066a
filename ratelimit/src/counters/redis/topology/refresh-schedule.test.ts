// When a schedule asks: regularly, sooner when something is wrong, and with a bound on the number.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RefreshSchedule } from "./refresh-schedule.ts";

/** A schedule whose questions are counted. */
class RefreshUnderTest {
  asked = 0;
  isAnswered = true;
  isDegraded = false;
  /** Set to let questions wait for an answer. */
  answer: Promise<void> | undefined;
  readonly refresh = new RefreshSchedule(
    {
      refresh: async () => {
        this.asked += 1;
        await this.answer;
        return this.isAnswered;
      },
      isDegraded: () => this.isDegraded,
      startup: { initialMs: 2000, maxMs: 8000 }, // Half of that with these random numbers.
      random: () => 0,
    },
    { regularMs: 5000, degradedMs: 1000, soonMs: 250 },
  );

  /** How many questions come within so many milliseconds. */
  async askedWithin(ms: number): Promise<number> {
    const before = this.asked;
    await vi.advanceTimersByTimeAsync(ms);
    return this.asked - before;
  }
}

describe("RefreshSchedule", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("start() asks immediately and then every 5 s while the store works", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    expect(running.asked).toBe(1);
    expect(await running.askedWithin(4999)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    expect(await running.askedWithin(20_000)).toBe(4);
  });

  it("start() backs off by the startup settings until there is an answer", async () => {
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

  it("start() asks every second while a node is away or the last question failed", async () => {
    const running = new RefreshUnderTest();
    running.isDegraded = true;
    running.refresh.start();
    expect(await running.askedWithin(3000)).toBe(3);
    running.isDegraded = false;
    running.isAnswered = false;
    expect(await running.askedWithin(3000)).toBe(3);
  });

  it("soon() asks once in 250 ms however often it is called", async () => {
    const running = new RefreshUnderTest();
    running.refresh.start();
    await vi.advanceTimersByTimeAsync(1000);
    for (let times = 0; times < 1000; times++) running.refresh.soon();
    expect(await running.askedWithin(249)).toBe(0);
    expect(await running.askedWithin(1)).toBe(1);
    expect(await running.askedWithin(4999)).toBe(0);
  });

  it("soon() asks four times a second at most when it is called all the time", async () => {
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
