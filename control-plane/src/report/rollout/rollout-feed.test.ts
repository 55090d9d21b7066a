// Tests of rollout-feed.ts: what a watcher is told and when, with fake timers and a report that the
// test changes.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { RolloutFeed } from "./rollout-feed.ts";
import { podOf, publisherOf, reportOf } from "./rollout-facts.suite.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

const PUBLISHER = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });

/** In place of the pods of a state: the watch sent none. */
const HEARTBEAT = -1;

interface WatcherOptions {
  readonly beforeNext?: () => Promise<void>;
  readonly heartbeatMs?: number;
}

/** Reads a watch as fast as it comes, or only when told to. */
class Watcher {
  readonly pods: number[] = [];
  readonly gone = new AbortController();
  end: unknown = "none";
  readonly done: Promise<void>;

  constructor(
    feed: RolloutFeed,
    filter: RolloutFilter = {},
    { beforeNext = async () => undefined, heartbeatMs = 0 }: WatcherOptions = {},
  ) {
    this.done = (async () => {
      for await (const rollout of feed.watch(filter, this.gone.signal, heartbeatMs)) {
        this.pods.push(rollout?.pods.length ?? HEARTBEAT);
        await beforeNext();
      }
      this.end = "quiet";
    })().catch((error: unknown) => {
      this.end = error;
    });
  }
}

/** The time of the fake clock. */
function nowMs(): number {
  return vi.getMockedSystemTime()?.getTime() ?? 0;
}

describe("RolloutFeed", () => {
  let pods: number;
  let reports: number;
  let reportTakesMs: number;
  let feed: RolloutFeed;

  function report(filter: RolloutFilter): RolloutReport {
    reports += 1;
    vi.setSystemTime(nowMs() + reportTakesMs);
    return reportOf(
      PUBLISHER,
      Array.from({ length: pods }, () => podOf({})),
      filter,
    );
  }

  /** Another number of pods. */
  function change(to: number): void {
    pods = to;
    feed.changed();
  }

  beforeEach(() => {
    vi.useFakeTimers();
    pods = 0;
    reports = 0;
    reportTakesMs = 0;
    feed = new RolloutFeed({ report, clock: Date.now });
  });

  afterEach(() => {
    feed.stop();
    vi.useRealTimers();
  });

  it("reports the state immediately, and a change when nothing else has changed for 50 ms", async () => {
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    expect(watcher.pods).toEqual([0]);
    await vi.advanceTimersByTimeAsync(5000);
    change(1);
    await vi.advanceTimersByTimeAsync(49);
    expect(watcher.pods).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 1]);
  });

  it("reports changes that come close together once, and the last one in the end", async () => {
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(1000);
    for (let count = 1; count <= 50; count += 1) {
      change(count);
      await vi.advanceTimersByTimeAsync(25);
    }
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods.at(-1)).toBe(50);
    // Every 250 ms for 1.25 seconds.
    expect(watcher.pods.length).toBeLessThanOrEqual(1 + 1 + 6);
    expect(watcher.pods.length).toBeGreaterThan(4);
  });

  it("says nothing when nothing has changed, and nothing that the filter holds back", async () => {
    const watcher = new Watcher(feed, { fleet: "other" });
    await vi.advanceTimersByTimeAsync(1000);
    feed.changed();
    change(3); // Pods of the fleet gateway.
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods).toEqual([0]);
  });

  it("reports the state again when nothing has changed for 25 s, so that proxies do not take the stream for dead", async () => {
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(24_999);
    expect(watcher.pods).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(10_000);
    change(1);
    await vi.advanceTimersByTimeAsync(25_049);
    expect(watcher.pods).toEqual([0, 0, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 0, 1, 1]);
    expect(reports).toBe(2);
  });

  it("sends heartbeats in place of repeats to a watcher that asks for them, at most every second", async () => {
    const watcher = new Watcher(feed, {}, { heartbeatMs: 2000 });
    const hasty = new Watcher(feed, {}, { heartbeatMs: 1 });
    await vi.advanceTimersByTimeAsync(4000);
    expect([watcher.pods, hasty.pods]).toEqual([
      [0, HEARTBEAT, HEARTBEAT],
      [0, HEARTBEAT, HEARTBEAT, HEARTBEAT, HEARTBEAT],
    ]);
    change(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods).toEqual([0, HEARTBEAT, HEARTBEAT, 1]);
  });

  it("keeps nothing for a slow watcher but the latest state", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const watcher = new Watcher(feed, {}, { beforeNext: () => promise });
    await vi.advanceTimersByTimeAsync(1000);
    for (let count = 1; count <= 20; count += 1) {
      change(count);
      await vi.advanceTimersByTimeAsync(200);
    }
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods).toEqual([0]);
    resolve();
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods).toEqual([0, 20]);
  });

  it("asks for the report once for all who watch the same", async () => {
    const [first, second] = [new Watcher(feed), new Watcher(feed)];
    await vi.advanceTimersByTimeAsync(1000);
    expect(reports).toBe(1);
    change(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect([first.pods, second.pods, reports]).toEqual([[0, 1], [0, 1], 2]);
  });

  it.each([
    { tookMs: 50, atMost: 4 },
    { tookMs: 400, atMost: 2 },
  ])(
    "looks no more than a tenth of the time when a look takes $tookMs ms, with another filter either, and tells the last state",
    async ({ tookMs, atMost }) => {
      reportTakesMs = tookMs;
      const watchers = [new Watcher(feed), new Watcher(feed, { fleet: "gateway" })];
      await vi.advanceTimersByTimeAsync(5000);
      const before = reports;
      for (let count = 1; count <= 100; count += 1) {
        change(count);
        await vi.advanceTimersByTimeAsync(10);
      }
      expect(reports - before).toBeLessThanOrEqual(atMost);
      await vi.advanceTimersByTimeAsync(20_000);
      expect(watchers.map((watcher) => watcher.pods.at(-1))).toEqual([100, 100]);
    },
  );

  it("looks no more than a tenth of the time when forty watch with filters of their own, and tells all of them the same", async () => {
    const crowded = new RolloutFeed({ report, clock: Date.now });
    reportTakesMs = 20;
    const watchers = Array.from({ length: 40 }, (_, index) => new Watcher(crowded, { namespace: `team-${index}` }));
    await vi.advanceTimersByTimeAsync(0);
    const before = reports;
    for (let count = 1; count <= 400; count += 1) {
      pods = count;
      crowded.changed();
      await vi.advanceTimersByTimeAsync(100);
    }
    // 40 reports of 20 ms take 800 ms, so they are made every 7.2 s besides that.
    expect(reports - before).toBe(6 * 40);
    expect(new Set(watchers.map((watcher) => watcher.pods.join())).size).toBe(1);
    crowded.stop();
  });

  it("waits for further changes as long as a look takes, for 50 to 100 ms, and not beyond 250 ms in all", async () => {
    reportTakesMs = 60;
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    change(1); // How long a look takes is not known yet.
    await vi.advanceTimersByTimeAsync(1000);
    expect(watcher.pods).toEqual([0, 1]);
    for (const count of [2, 3, 4]) {
      change(count);
      await vi.advanceTimersByTimeAsync(59);
    }
    expect(watcher.pods).toEqual([0, 1]);
    reportTakesMs = 600;
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 1, 4]);
    await vi.advanceTimersByTimeAsync(10_000);
    change(5);
    await vi.advanceTimersByTimeAsync(99);
    expect(watcher.pods).toEqual([0, 1, 4]);
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 1, 4, 5]);
    await vi.advanceTimersByTimeAsync(10_000);
    for (let count = 6; count <= 10; count += 1) {
      change(count);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(watcher.pods).toEqual([0, 1, 4, 5, 10]);
  });

  it("puts a state off for ten seconds at most, however long a look takes", async () => {
    reportTakesMs = 5000;
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    change(1);
    await vi.advanceTimersByTimeAsync(50);
    change(2);
    await vi.advanceTimersByTimeAsync(9999);
    expect(watcher.pods).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(watcher.pods).toEqual([0, 1, 2]);
  });

  it("does not put a state off when the clock is set back", async () => {
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    change(1);
    await vi.advanceTimersByTimeAsync(50);
    vi.setSystemTime(nowMs() - 3_600_000);
    change(2);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(watcher.pods).toEqual([0, 1, 2]);
  });

  it("reports one who comes the state immediately, even when it is not time to look for the others", async () => {
    const crowded = new RolloutFeed({ report, clock: Date.now });
    reportTakesMs = 400;
    const first = new Watcher(crowded, { namespace: "first" });
    await vi.advanceTimersByTimeAsync(1000);
    for (const count of [1, 2]) {
      pods = count;
      crowded.changed();
      await vi.advanceTimersByTimeAsync(1000);
    }
    const [second, third] = [
      new Watcher(crowded, { namespace: "second" }),
      new Watcher(crowded, { namespace: "first" }),
    ];
    await vi.advanceTimersByTimeAsync(0);
    // The report that watchers with the same filter have received is enough in the meantime.
    expect([first.pods, second.pods, third.pods, reports]).toEqual([[0, 1], [2], [1], 3]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect([first.pods, second.pods, third.pods]).toEqual([[0, 1, 2], [2], [1, 2]]);
    crowded.stop();
  });

  it("makes no more reports for a filter whose last watcher has gone, and none without watchers", async () => {
    const [first, second] = [new Watcher(feed, { namespace: "first" }), new Watcher(feed, { namespace: "second" })];
    await vi.advanceTimersByTimeAsync(1000);
    change(1);
    first.gone.abort();
    await first.done;
    await vi.advanceTimersByTimeAsync(1000);
    expect([feed.watchers(), second.pods, reports]).toEqual([1, [0, 1], 3]);
    second.gone.abort();
    await second.done;
    change(2);
    expect([feed.watchers(), vi.getTimerCount()]).toEqual([0, 0]);
    // One who comes later is told everything all the same.
    const late = new Watcher(feed, { namespace: "first" });
    await vi.advanceTimersByTimeAsync(0);
    expect([late.pods, reports]).toEqual([[2], 4]);
  });

  it("refuses one watcher too many, and takes another when one has gone", async () => {
    const first = new Watcher(feed);
    const others = Array.from({ length: 127 }, () => new Watcher(feed));
    const further = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    expect(further.end).toMatchObject({
      code: "WATCHERS_EXCEEDED",
      message: "Cannot watch the rollout: this replica has 128 watchers already",
    });
    first.gone.abort();
    await first.done;
    expect([first.end, new Set(others.map(({ end }) => end)), feed.watchers()]).toEqual([
      "quiet",
      new Set(["none"]),
      127,
    ]);
    const next = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(0);
    expect(next.pods).toEqual([0]);
  });

  it("ends watches when it stops, and takes no new ones", async () => {
    const watcher = new Watcher(feed);
    await vi.advanceTimersByTimeAsync(1000);
    feed.stop();
    await watcher.done;
    const late = new Watcher(feed);
    await late.done;
    const expected = {
      code: "SHUTTING_DOWN",
      message: "Cannot watch the rollout: the control plane is shutting down, connect again",
    };
    expect([watcher.end, late.end]).toMatchObject([expected, expected]);
    expect(feed.watchers()).toBe(0);
  });
});
