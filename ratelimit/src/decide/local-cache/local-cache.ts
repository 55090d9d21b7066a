// The local cache: counters that are over their limit, which the store is not asked for again while they
// are. A key contains the start of its window, so an entry that stays too long is not found; that of a cell
// does not, and is kept for as long as not one hit can pass.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { StatisticsGauge } from "../../statistics/statistic.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { type HeldKey, holdKey, LocalCacheGeneration } from "./local-cache-generation.ts";

/** Longest key in UTF-16 units, as in envoyproxy/ratelimit. */
const KEY_MAX_LENGTH = 65_535;

/**
 * A key takes at most one part in so many of the cache, so that no caller empties it with a few
 * long keys.
 */
const KEY_SHARE = 8;

/**
 * Share of the size that the objects of a cache may take together; the rest is lost in the pages of
 * the heap.
 */
const OBJECTS_SHARE = 31 / 32;

/**
 * Shortest time between two lines about keys that are not kept, in milliseconds; and the length of
 * such a key in the line, in UTF-16 units.
 */
const LOG_INTERVAL_MS = 10_000;
const LOGGED_KEY_LENGTH = 100;

/** The end of a deleted entry: long before every other. */
const ENDED = -(2 ** 30);

export interface LocalCacheDeps {
  readonly statistics: Pick<StatisticsStore, "gauge">;
  /** Milliseconds by a clock that only goes forward, for the log. */
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Settings of the cache. */
export interface LocalCacheOptions {
  /**
   * LOCAL_CACHE_SIZE_IN_BYTES: most memory that keys and their tables take; 0 = no cache. The cache
   * itself takes less than 2 KiB more. envoyproxy/ratelimit takes at least 512 KiB.
   */
  readonly sizeBytes: number;
}

/** Creates the cache; undefined, and without gauges, when its size is 0. */
export function createLocalCache(deps: LocalCacheDeps, options: LocalCacheOptions): LocalCache | undefined {
  return options.sizeBytes > 0 ? new LocalCache(deps, options) : undefined;
}

/**
 * A cache of keys that are over their limit. Two generations of half the size each: new keys go
 * into the younger one; when that is full, the older one is dropped, so the oldest keys go first at
 * no cost for each key.
 */
export class LocalCache {
  readonly #drops: RateLimitedLog;
  readonly #keyMaxBytes: number;
  readonly #generationMaxBytes: number;
  readonly #gauges: LocalCacheGauges;
  /** Times are stored as seconds since this one: small numbers need no memory of their own. */
  #epochSeconds: number | undefined;
  #young = new LocalCacheGeneration();
  #old = new LocalCacheGeneration();

  constructor({ statistics, monotonicMs, log }: LocalCacheDeps, { sizeBytes }: LocalCacheOptions) {
    this.#drops = new RateLimitedLog(log, { intervalMs: LOG_INTERVAL_MS, monotonicMs });
    this.#generationMaxBytes = (sizeBytes * OBJECTS_SHARE) / 2;
    this.#keyMaxBytes = sizeBytes / KEY_SHARE;
    this.#gauges = createGauges(statistics);
  }

  /** Seconds for which the key is known to be over its limit; 0 when it is not. The hot path: nothing is allocated. */
  secondsLeft(key: string, nowSeconds: number): number {
    const { lookupCount, hitCount, missCount } = this.#gauges;
    lookupCount.set(lookupCount.value + 1);
    const expiry = this.#young.expiryOf(key) ?? this.#old.expiryOf(key);
    const left =
      expiry === undefined || this.#epochSeconds === undefined ? 0 : expiry - (nowSeconds - this.#epochSeconds);
    if (left > 0) {
      hitCount.set(hitCount.value + 1);
      return left;
    }
    missCount.set(missCount.value + 1);
    return 0;
  }

  /** Keeps a key that is over its limit for so many seconds from now on, such as the length of its window. */
  add(key: string, seconds: number, nowSeconds: number): void {
    this.#epochSeconds ??= nowSeconds;
    const now = nowSeconds - this.#epochSeconds;
    if (this.#young.renew(key, now + seconds) || this.#old.renew(key, now + seconds)) {
      increase(this.#gauges.overwriteCount, 1);
      return;
    }
    const held = key.length > KEY_MAX_LENGTH ? undefined : holdKey(key);
    if (held === undefined || held.bytes > this.#keyMaxBytes || !this.#evictOldest(held, now)) {
      const message = `Failing to set local cache key: ${key.slice(0, LOGGED_KEY_LENGTH)}`;
      this.#drops.warn(message, { length: key.length }, "dropped");
      return;
    }
    this.#young.add(held, now + seconds);
    this.#gauges.entryCount.set(this.#young.size + this.#old.size);
  }

  /** Forgets a key, if it is there: it may be under its limit again. */
  delete(key: string): void {
    // The entry goes with its generation, whose account of memory stays exact.
    if (!this.#young.renew(key, ENDED)) this.#old.renew(key, ENDED);
  }

  /** Makes the younger generation take the key; false when not even an empty one could. */
  #evictOldest(key: HeldKey, now: number): boolean {
    // A generation that has ended is dropped immediately: with limits per second and few keys no other
    // case occurs.
    if (this.#old.size > 0 && this.#old.hasEnded(now)) this.#old = this.#replaced(this.#old, now);
    if (this.#young.size > 0 && this.#young.hasEnded(now)) this.#young = this.#replaced(this.#young, now);
    if (this.#young.hasRoomFor(key, this.#generationMaxBytes)) return true;
    if (this.#young.size === 0) return false;
    const empty = this.#replaced(this.#old, now);
    this.#old = this.#young;
    this.#young = empty;
    return empty.hasRoomFor(key, this.#generationMaxBytes);
  }

  /** Counts the entries of a dropped generation and returns an empty one in its place. */
  #replaced(generation: LocalCacheGeneration, now: number): LocalCacheGeneration {
    const ended = generation.countEnded(now);
    increase(this.#gauges.expiredCount, ended);
    increase(this.#gauges.evacuateCount, generation.size - ended);
    return new LocalCacheGeneration();
  }
}

type LocalCacheGauges = ReturnType<typeof createGauges>;

/** ratelimit.localcache.*, with the names of envoyproxy/ratelimit. */
function createGauges(statistics: Pick<StatisticsStore, "gauge">) {
  const gauge = (name: string): StatisticsGauge => statistics.gauge(`ratelimit.localcache.${name}`);
  // The mean time of last access. It stays 0: accesses are not recorded, because the oldest go first.
  gauge("averageAccessTime");
  return {
    evacuateCount: gauge("evacuateCount"),
    expiredCount: gauge("expiredCount"),
    entryCount: gauge("entryCount"),
    hitCount: gauge("hitCount"),
    missCount: gauge("missCount"),
    lookupCount: gauge("lookupCount"),
    overwriteCount: gauge("overwriteCount"),
  };
}

function increase(gauge: StatisticsGauge, by: number): void {
  gauge.set(gauge.value + by);
}
