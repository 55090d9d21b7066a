// The counters this process knows to be over their limit: their keys need not be asked for again
// until their window has passed. It knows nothing of rules; a key holds the start of its window, so
// an entry that stays too long is never found.
import type { Log } from "@weir/common/log/log";
import type { StatisticsGauge, StatisticsStore } from "../../statistics/statistics-store.ts";
import { type HeldKey, holdKey, LocalCacheGeneration } from "./local-cache-generation.ts";

/** Longest key in UTF-16 units: the reference's. */
const KEY_MAX_LENGTH = 65_535;

/**
 * A key takes at most one part in so many of the cache, so that no caller empties it with a few
 * long keys.
 */
const KEY_SHARE = 8;

/**
 * Share of the size that the objects of a cache may take together; the rest is what pages of the
 * heap waste around them.
 */
const OBJECTS_SHARE = 31 / 32;

/**
 * Shortest time between two lines about keys that are not kept, in seconds; and how much of such a
 * key they show, in UTF-16 units.
 */
const LOG_INTERVAL_SECONDS = 10;
const LOGGED_KEY_LENGTH = 100;

/** What the cache works with. */
export interface LocalCacheDeps {
  readonly statistics: Pick<StatisticsStore, "gauge">;
  readonly log: Log;
}

/** Settings of the cache. */
export interface LocalCacheOptions {
  /**
   * LOCAL_CACHE_SIZE_IN_BYTES: most memory that keys and their tables take; 0 = no cache. What the
   * cache itself takes, less than 2 KiB, is not in it. There is no least size as in the reference,
   * which takes 512 KiB when it is given less.
   */
  readonly sizeBytes: number;
}

/** Creates the cache; undefined when there is to be none, with no gauges either. */
export function createLocalCache(deps: LocalCacheDeps, options: LocalCacheOptions): LocalCache | undefined {
  return options.sizeBytes > 0 ? new LocalCache(deps, options) : undefined;
}

/**
 * A cache of keys that are over their limit. Two generations of half the size each: new keys go
 * into the younger one; when that is full, the older one is dropped, so what came first goes first,
 * at no cost for each key.
 */
export class LocalCache {
  readonly #log: Log;
  readonly #keyMaxBytes: number;
  readonly #generationMaxBytes: number;
  readonly #gauges: LocalCacheGauges;
  /** Moments are kept as seconds since this one, for small numbers take no memory of their own. */
  #epochSeconds: number | undefined;
  #young = new LocalCacheGeneration();
  #old = new LocalCacheGeneration();
  #quietUntilSeconds = -Infinity;
  #unheld = 0;

  constructor({ statistics, log }: LocalCacheDeps, { sizeBytes }: LocalCacheOptions) {
    this.#log = log;
    this.#generationMaxBytes = (sizeBytes * OBJECTS_SHARE) / 2;
    this.#keyMaxBytes = sizeBytes / KEY_SHARE;
    this.#gauges = createGauges(statistics);
  }

  /** Whether the key is known to be over its limit. The hot path: nothing is allocated. */
  has(key: string, nowSeconds: number): boolean {
    const { lookupCount, hitCount, missCount } = this.#gauges;
    lookupCount.set(lookupCount.value + 1);
    const expiry = this.#young.expiryOf(key) ?? this.#old.expiryOf(key);
    if (expiry !== undefined && this.#epochSeconds !== undefined && expiry > nowSeconds - this.#epochSeconds) {
      hitCount.set(hitCount.value + 1);
      return true;
    }
    missCount.set(missCount.value + 1);
    return false;
  }

  /** Keeps a key that was found over its limit for the length of its window from now on. */
  add(key: string, windowSeconds: number, nowSeconds: number): void {
    this.#epochSeconds ??= nowSeconds;
    const now = nowSeconds - this.#epochSeconds;
    if (this.#young.renew(key, now + windowSeconds) || this.#old.renew(key, now + windowSeconds)) {
      increase(this.#gauges.overwriteCount, 1);
      return;
    }
    const held = key.length > KEY_MAX_LENGTH ? undefined : holdKey(key);
    if (held === undefined || held.bytes > this.#keyMaxBytes || !this.#makeRoom(held, now)) {
      this.#tellUnheld(key, nowSeconds);
      return;
    }
    this.#young.add(held, now + windowSeconds);
    this.#gauges.entryCount.set(this.#young.size + this.#old.size);
  }

  /** Makes the younger generation one that takes the key; false when not even an empty one does. */
  #makeRoom(key: HeldKey, now: number): boolean {
    // What has ended as a whole goes at once: with limits per second and few keys that is all there
    // ever is.
    if (this.#old.size > 0 && this.#old.hasEnded(now)) this.#old = this.#dropped(this.#old, now);
    if (this.#young.size > 0 && this.#young.hasEnded(now)) this.#young = this.#dropped(this.#young, now);
    if (this.#young.hasRoomFor(key, this.#generationMaxBytes)) return true;
    if (this.#young.size === 0) return false;
    const empty = this.#dropped(this.#old, now);
    this.#old = this.#young;
    this.#young = empty;
    return empty.hasRoomFor(key, this.#generationMaxBytes);
  }

  /** Counts the entries of a generation that is let go, and gives an empty one for it. */
  #dropped(generation: LocalCacheGeneration, now: number): LocalCacheGeneration {
    const ended = generation.countEnded(now);
    increase(this.#gauges.expiredCount, ended);
    increase(this.#gauges.evacuateCount, generation.size - ended);
    return new LocalCacheGeneration();
  }

  #tellUnheld(key: string, nowSeconds: number): void {
    this.#unheld += 1;
    if (nowSeconds < this.#quietUntilSeconds) return;
    this.#quietUntilSeconds = nowSeconds + LOG_INTERVAL_SECONDS;
    this.#log.warn(`Failing to set local cache key: ${key.slice(0, LOGGED_KEY_LENGTH)}`, {
      length: key.length,
      keys: this.#unheld,
    });
    this.#unheld = 0;
  }
}

/** ratelimit.localcache.*, by the names of the reference. */
interface LocalCacheGauges {
  readonly evacuateCount: StatisticsGauge;
  readonly expiredCount: StatisticsGauge;
  readonly entryCount: StatisticsGauge;
  readonly hitCount: StatisticsGauge;
  readonly missCount: StatisticsGauge;
  readonly lookupCount: StatisticsGauge;
  readonly overwriteCount: StatisticsGauge;
}

function createGauges(statistics: Pick<StatisticsStore, "gauge">): LocalCacheGauges {
  const gauge = (name: string): StatisticsGauge => statistics.gauge(`ratelimit.localcache.${name}`);
  // The mean moment of the last access of all entries. It stays 0: what came first goes first here,
  // so that nothing knows when an entry was found last.
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
