// The local cache never takes more memory than its size: measured on the heap.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { createLocalCache, type LocalCache } from "./local-cache.ts";

function isKnown(cache: LocalCache, key: string, nowSeconds: number): boolean {
  return cache.secondsLeft(key, nowSeconds) > 0;
}

describe("LocalCache memory", () => {
  const SIZE_BYTES = 3_000_000;
  const STEP = 3001;
  const open = (): { cache: LocalCache; gauge: (name: string) => number } => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 0 });
    const cache = createLocalCache(
      { statistics, monotonicMs: () => performance.now(), log: silentLog() },
      { sizeBytes: SIZE_BYTES },
    );
    if (cache === undefined) throw new Error("There must be a cache");
    return { cache, gauge: (name) => statistics.gauge(`ratelimit.localcache.${name}`).value };
  };
  const fill = (cache: LocalCache, key: (index: number) => string, from: number): void => {
    for (let index = from; index < from + STEP; index++) cache.add(key(index), 3600, 1200);
  };
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  /** A function of its own, so that nothing of it is on the stack when memory is looked at. */
  const warmUp = (key: (index: number) => string): void => fill(open().cache, key, 0);
  const heapBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };

  it.each([
    { what: "usual", key: (index: number) => `domain_user_user-${index}@example.com_1234567890`, least: 0.5 },
    { what: "short", key: (index: number) => `${index}`, least: 0.4 },
    { what: "long", key: (index: number) => `domain_path_/${"segment/".repeat(100)}${index}_1234567890`, least: 0.5 },
    { what: "two-byte", key: (index: number) => `domain_user_利用者-${index}_1234567890`, least: 0.5 },
  ])(
    "add() stays within the size, and uses most of it, when $what keys fill the cache many times over",
    ({ key, least }) => {
      // The code that is compiled on the way, and what the test itself needs, is not the cache's.
      warmUp(key);
      const before = heapBytes();
      const { cache, gauge } = open();
      let most = 0;
      // Looks often enough to see tables just before and after they grew.
      for (let look = 0; look < 25; look++) {
        fill(cache, key, look * STEP);
        most = Math.max(most, heapBytes() - before);
      }
      expect(gauge("evacuateCount")).toBeGreaterThan(gauge("entryCount"));
      expect(isKnown(cache, key(25 * STEP - 1), 1200)).toBe(true);
      expect(most).toBeLessThanOrEqual(SIZE_BYTES);
      expect(most).toBeGreaterThan(SIZE_BYTES * least);
    },
  );
});
