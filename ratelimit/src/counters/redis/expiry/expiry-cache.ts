// Caches the keys for which this process has sent an expiry, by their hash: one in 10^7 is taken for
// another, which the reply to its first increment shows. Forgetting one costs one more EXPIRE.
import { UNIT_SECONDS } from "@weir/limits/model/unit";
import { CalendarWindows, UTC_MONTHS } from "@weir/limits/window/calendar";

/** A key whose expiry has to be sent once more. */
export interface KeyExpiry {
  readonly key: string;
  readonly seconds: number;
  /** The error that the server refused it with; undefined when it was not refused. */
  readonly refusal?: Error;
}

/** A key by its hash in two parts of 32 bits with a sign; `tag` is undefined for keys that are not cached. */
export interface HashedKey {
  readonly hash: number;
  readonly tag: number | undefined;
}

/** Number of buckets, a power of two: 524,288 keys in 2 MiB. */
const BUCKETS = 65_536;

/** Entries of a bucket, half of a cache line. */
const BUCKET_SIZE = 8;

/** The class of calendar months of any time zone: one more than the bits of 30 days. */
const CALENDAR_MONTH_CLASS = 23;

/** The longest of them. */
const CALENDAR_MONTH_MAX_SECONDS = new CalendarWindows(UTC_MONTHS).maxSeconds;

/** The bits of an entry that are the class of a window; the others are a tag. */
const WINDOW_MASK = 0x1f;

/**
 * By class, the window of the unit that has so many bits: no two units have the same number. Calendar
 * months are in the class after that of 30 days.
 */
const UNIT_OF_CLASS: readonly (number | undefined)[] = Array.from({ length: WINDOW_MASK + 1 }, (_, bits) =>
  bits === CALENDAR_MONTH_CLASS
    ? CALENDAR_MONTH_MAX_SECONDS
    : Object.values(UNIT_SECONDS).find((seconds) => 32 - Math.clz32(seconds) === bits),
);

/** The keys whose expiry was sent, as far as cached. */
export class ExpiryCache {
  /**
   * Per entry 27 bits of the tag of a key, and the longest window that its expiry was sent for, 0
   * when there is none. The entries of a bucket are ordered, the latest first.
   */
  readonly #entries: Int32Array;
  readonly #mask: number;

  /** `buckets` is a power of two. */
  constructor(buckets: number = BUCKETS) {
    this.#entries = new Int32Array(buckets * BUCKET_SIZE);
    this.#mask = buckets - 1;
  }

  /**
   * Returns true if the expiry that was sent covers a window of this length. The unit of a limit is
   * not in the key: where two windows begin together, a key that was to live for a minute may have to
   * live for an hour.
   */
  covers(key: HashedKey, windowSeconds: number): boolean {
    const at = this.#find(key);
    return at >= 0 && ((this.#entries[at] ?? 0) & WINDOW_MASK) >= classOf(windowSeconds);
  }

  /** Adds a key whose expiry is being sent; the oldest one of its bucket is forgotten. */
  add(key: HashedKey, windowSeconds: number): void {
    if (key.tag === undefined) return;
    const first = this.#bucketOf(key);
    const present = this.#find(key);
    this.#entries.copyWithin(first + 1, first, present >= 0 ? present : first + BUCKET_SIZE - 1);
    this.#entries[first] = (key.tag & ~WINDOW_MASK) | classOf(windowSeconds);
  }

  /** Removes a key whose write failed or which the server has lost. */
  delete(key: HashedKey): void {
    const at = this.#find(key);
    if (at >= 0) this.#entries[at] = 0;
  }

  /** Removes all keys. */
  clear(): void {
    this.#entries.fill(0);
  }

  #bucketOf({ hash }: HashedKey): number {
    return (hash & this.#mask) * BUCKET_SIZE;
  }

  /** The position of the entry of the key; negative when there is none. */
  #find(key: HashedKey): number {
    const { tag } = key;
    if (tag === undefined) return -1;
    const first = this.#bucketOf(key);
    for (let at = first; at < first + BUCKET_SIZE; at++)
      if ((((this.#entries[at] ?? 0) ^ tag) & ~WINDOW_MASK) === 0) return at;
    return -1;
  }
}

/**
 * How long a key has to live for a window, in seconds. A window of one unit lives for its length; any
 * other for the longest time of its class, so that a class covers all below it.
 */
export function lifetimeSeconds(windowSeconds: number): number {
  const windowClass = classOf(windowSeconds);
  return UNIT_OF_CLASS[windowClass] === windowSeconds ? windowSeconds : 2 ** windowClass - 1;
}

/**
 * The class of a window: the number of bits of its seconds, at most 29 for ten years. A class has one unit
 * and nothing else, or other windows only: those with the bits of a unit are in the next one that has none.
 */
function classOf(windowSeconds: number): number {
  let windowClass = 32 - Math.clz32(windowSeconds);
  while (!isIn(windowSeconds, windowClass)) windowClass += 1;
  return windowClass;
}

function isIn(windowSeconds: number, windowClass: number): boolean {
  const unit = UNIT_OF_CLASS[windowClass];
  return unit === undefined || unit === windowSeconds;
}
