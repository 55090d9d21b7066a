// The local cache: how long keys stay, which go first, and what it counts.
import { createLog, silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { createLocalCache, type LocalCache } from "./local-cache.ts";

function isKnown(cache: LocalCache, key: string, nowSeconds: number): boolean {
  return cache.secondsLeft(key, nowSeconds) > 0;
}

/** A cache with its gauges by the last part of their names, and its log lines. */
function open(sizeBytes: number) {
  const statistics = new StatisticsStore({ maxDynamicKeys: 0 });
  const lines: string[] = [];
  const log = createLog({ level: "warn", format: "json", write: (line) => lines.push(line) });
  const time = { seconds: 0 };
  const cache = createLocalCache({ statistics, monotonicMs: () => time.seconds * 1000, log }, { sizeBytes });
  if (cache === undefined) throw new Error("There must be a cache");
  const gauge = (name: string): number => statistics.gauge(`ratelimit.localcache.${name}`).value;
  return { cache, gauge, lines, time };
}

/** The keys among `key-0`, `key-1`, … that the cache knows. */
function known(cache: LocalCache, keys: number, nowSeconds: number): number[] {
  return Array.from({ length: keys }, (_, index) => index).filter((index) =>
    isKnown(cache, `key-${index}`, nowSeconds),
  );
}

describe("createLocalCache()", () => {
  it("createLocalCache() makes none, and no gauge, when the size is 0", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 0 });
    expect(createLocalCache({ statistics, monotonicMs: () => 0, log: silentLog() }, { sizeBytes: 0 })).toBeUndefined();
    const gauges: string[] = [];
    statistics
      .walk({
        counter: () => undefined,
        rule: () => undefined,
        gauge: (name) => gauges.push(name),
        timer: () => undefined,
      })
      .toArray();
    expect(gauges).toEqual([]);
  });

  it("createLocalCache() shows every gauge of envoyproxy/ratelimit at zero", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 0 });
    createLocalCache({ statistics, monotonicMs: () => 0, log: silentLog() }, { sizeBytes: 1 });
    const gauges: Record<string, number> = {};
    statistics
      .walk({
        counter: () => undefined,
        rule: () => undefined,
        gauge: (name, value) => (gauges[name] = value),
        timer: () => undefined,
      })
      .toArray();
    expect(gauges).toEqual({
      "ratelimit.localcache.averageAccessTime": 0,
      "ratelimit.localcache.entryCount": 0,
      "ratelimit.localcache.evacuateCount": 0,
      "ratelimit.localcache.expiredCount": 0,
      "ratelimit.localcache.hitCount": 0,
      "ratelimit.localcache.lookupCount": 0,
      "ratelimit.localcache.missCount": 0,
      "ratelimit.localcache.overwriteCount": 0,
    });
  });
});

describe("LocalCache", () => {
  it.each([
    { windowSeconds: 1, last: 1234, ended: 1235 },
    { windowSeconds: 60, last: 1293, ended: 1294 },
    { windowSeconds: 31_536_000, last: 31_537_233, ended: 31_537_234 },
  ])("has() knows a key for $windowSeconds s from the moment it was added", ({ windowSeconds, last, ended }) => {
    const { cache } = open(10_000);
    cache.add("key", windowSeconds, 1234);
    expect(isKnown(cache, "key", 1234)).toBe(true);
    expect(isKnown(cache, "key", last)).toBe(true);
    expect(isKnown(cache, "key", ended)).toBe(false);
  });

  it("has() knows a key longer when it is added again", () => {
    const { cache, gauge } = open(10_000);
    cache.add("key", 60, 1200);
    cache.add("key", 60, 1230);
    expect(isKnown(cache, "key", 1289)).toBe(true);
    expect(isKnown(cache, "key", 1290)).toBe(false);
    expect([gauge("entryCount"), gauge("overwriteCount")]).toEqual([1, 1]);
  });

  it("has() knows a key in the older half, and add() renews it there, when newer ones filled the younger half", () => {
    const { cache, gauge } = open(2000);
    // 1,000 bytes a half: 448 of a table of 16 and 24 a key, and no room to make it a table of 32.
    for (let index = 0; index < 20; index++) cache.add(`key-${index}`, 60, 1200);
    expect(known(cache, 20, 1200)).toHaveLength(20);
    cache.add("key-0", 60, 1230);
    expect(gauge("entryCount")).toBe(20);
    expect(isKnown(cache, "key-0", 1280)).toBe(true);
    expect(isKnown(cache, "key-1", 1280)).toBe(false);
  });

  it("has() counts lookups, hits and misses", () => {
    const { cache, gauge } = open(10_000);
    cache.add("key", 60, 1200);
    isKnown(cache, "key", 1200);
    isKnown(cache, "key", 1201);
    isKnown(cache, "key", 1260);
    isKnown(cache, "other", 1200);
    expect([gauge("lookupCount"), gauge("hitCount"), gauge("missCount")]).toEqual([4, 2, 2]);
  });

  it("add() lets the oldest go first when there is no room", () => {
    const { cache, gauge } = open(2000);
    for (let index = 0; index < 100; index++) cache.add(`key-${index}`, 60, 1200);
    expect(known(cache, 100, 1200)).toEqual([
      80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99,
    ]);
    expect([gauge("entryCount"), gauge("evacuateCount"), gauge("expiredCount")]).toEqual([20, 80, 0]);
  });

  it("add() counts expired keys and evicted keys separately", () => {
    const { cache, gauge } = open(2000);
    cache.add("key-0", 3600, 1200);
    for (let index = 1; index < 16; index++) cache.add(`key-${index}`, 1, 1200);
    for (let index = 16; index < 48; index++) cache.add(`key-${index}`, 60, 1201);
    expect([gauge("entryCount"), gauge("evacuateCount"), gauge("expiredCount")]).toEqual([32, 1, 15]);
  });

  it("add() drops what has ended when all of it has", () => {
    const { cache, gauge } = open(2000);
    for (let index = 0; index < 30; index++) cache.add(`key-${index}`, 1, 1200);
    cache.add("key-30", 1, 1201);
    expect([gauge("entryCount"), gauge("evacuateCount"), gauge("expiredCount")]).toEqual([1, 0, 30]);
  });

  it("add() keeps keys of every kind of text apart", () => {
    const { cache } = open(100_000);
    const keys = ["", "a", "ä", "a\u0308", "日本", "😀", "\ud83d", "a\u0000b"];
    for (const key of keys) {
      expect(isKnown(cache, key, 1200)).toBe(false);
      cache.add(key, 60, 1200);
    }
    for (const key of keys) expect(isKnown(cache, key, 1200)).toBe(true);
    expect(isKnown(cache, "\ude00", 1200)).toBe(false);
  });

  it.each([
    { what: "takes more than an eighth of the cache", sizeBytes: 8000, key: "k".repeat(985), shorter: 984 },
    { what: "is longer than in envoyproxy/ratelimit", sizeBytes: 10_000_000, key: "k".repeat(65_536), shorter: 65_535 },
    {
      what: "takes more than an eighth of the cache with two bytes a character",
      sizeBytes: 8000,
      key: "日".repeat(493),
      shorter: 492,
    },
    { what: "has no room in an empty cache", sizeBytes: 200, key: "k", shorter: undefined },
  ])("add() keeps no key that $what, and says so once in ten seconds", ({ sizeBytes, key, shorter }) => {
    const { cache, gauge, lines, time } = open(sizeBytes);
    for (const nowSeconds of [1200, 1201, 1209, 1210]) {
      time.seconds = nowSeconds;
      cache.add(key, 60, nowSeconds);
    }
    expect(isKnown(cache, key, 1210)).toBe(false);
    expect(gauge("entryCount")).toBe(0);
    const shown = `Failing to set local cache key: ${key.slice(0, 100)}`;
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.not.objectContaining({ repeats: expect.anything() as unknown }),
      expect.objectContaining({ "@message": shown, length: key.length, repeats: 2 }),
    ]);
    if (shorter === undefined) return;
    cache.add(key.slice(0, shorter), 60, 1210);
    expect(isKnown(cache, key.slice(0, shorter), 1210)).toBe(true);
  });

  it("add() takes keys of a real length when the size is that of the tests of envoyproxy/ratelimit", () => {
    const { cache } = open(1000);
    cache.add("another_key2_value_with_some_length_1200", 60, 1200);
    cache.add("another_key3_value_with_some_length_1200", 60, 1200);
    expect(isKnown(cache, "another_key2_value_with_some_length_1200", 1200)).toBe(true);
    expect(isKnown(cache, "another_key3_value_with_some_length_1200", 1200)).toBe(true);
  });
});
