// Counters in the memory of the process: exact, lost when it ends, not shared with replicas. The
// number of keys is bounded, and ended windows are dropped as a whole: no key has a timer.
import { getRandomValues } from "node:crypto";
import type { CountBatch, CountedCheck, Counter } from "../counter.ts";
import { StoreError } from "../store-error.ts";
import { CellTables } from "./cell-tables.ts";
import { CountTable } from "./count-table.ts";
import type { HashSeed } from "./key-hash.ts";
import { StoredKey } from "./stored-key.ts";

/** Settings of the memory backend. */
export interface MemoryCounterOptions {
  /**
   * MEMORY_MAX_KEYS: most counters, about 100 bytes each for keys of 60 bytes and never more than
   * 560. A full table refuses new keys (STORE_FULL) and counts the known ones: deleting a count
   * would admit callers over their limit. Default 1000000.
   */
  readonly maxKeys: number;
}

/** The clock and the seed that the counter takes from its process; tests replace them. */
export interface MemoryCounterDeps {
  /** Milliseconds since the epoch; called only when the table is full, or has too many lengths of windows. */
  readonly clock: () => number;
  /** Of the hash that distributes the keys; a secret. */
  readonly seed: HashSeed;
}

/** The counts of one window. */
interface Window {
  readonly startSeconds: number;
  readonly counts: CountTable;
}

/**
 * Most windows of one length: more than two only while a clock that was set back has not returned to
 * the latest. Beyond it the latest is dropped.
 */
const WINDOWS_MAX = 4;

/**
 * Most lengths of windows: requests may bring limits of any. Each takes 80 KiB at least, so beyond it keys
 * of a further length fail, as with a full table.
 */
const LENGTHS_MAX = 64;

/** The memory backend. */
export class MemoryCounter implements Counter {
  readonly name = "memory counters";
  readonly errorType = "memory_error";
  readonly #maxKeys: number;
  readonly #clock: () => number;
  /** By window length in seconds, one entry per unit; the latest window first. */
  readonly #windows = new Map<number, readonly Window[]>();
  readonly #cells = new CellTables();
  /** The error of all calls that are refused: making one costs more than counting. */
  readonly #full: StoreError;
  /** The key that is being counted. */
  readonly #key: StoredKey;

  constructor(
    { maxKeys }: MemoryCounterOptions,
    { clock = Date.now, seed = randomSeed() }: Partial<MemoryCounterDeps> = {},
  ) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
    const message = `Cannot count a new key: the memory backend holds its maximum of ${maxKeys} keys`;
    this.#full = new StoreError("STORE_FULL", message, { transient: true });
    this.#key = new StoredKey(seed);
  }

  count(batch: CountBatch): void {
    for (const check of batch.checks) {
      if (!this.#increment(check)) {
        batch.failed(this.#full);
        return;
      }
    }
    batch.counted();
  }

  read(batch: CountBatch): void {
    for (const check of batch.checks) {
      this.#key.set(check.key);
      if (check.cell !== undefined) {
        this.#cells.count(this.#key, check.cell, 0, () => false);
        continue;
      }
      const counts = this.#windowOf(check)?.counts;
      const place = counts?.find(this.#key) ?? 0;
      check.after = counts === undefined || place === 0 ? 0 : counts.count(place);
    }
    batch.counted();
  }

  /**
   * Adds to a counter and sets the sum on the check; false when the key is new and the table is
   * full.
   */
  #increment(check: CountedCheck): boolean {
    if (check.cell !== undefined) {
      this.#key.set(check.key);
      return this.#cells.count(this.#key, check.cell, check.addend, () => this.#hasRoom());
    }
    const counts = this.#windowOf(check)?.counts;
    if (counts === undefined) return false;
    const { addend } = check;
    this.#key.set(check.key);
    const place = counts.find(this.#key);
    if (place !== 0) {
      check.after = counts.increment(place, addend);
      return true;
    }
    // Reading a counter that does not exist creates none, nor does a refund.
    if (addend > 0 && !(this.#hasRoom() && counts.insert(this.#key, addend))) return false;
    check.after = Math.max(0, addend);
    return true;
  }

  /** The window of a check; undefined when there are too many lengths. */
  #windowOf({ windowSeconds, windowStartSeconds }: CountedCheck): Window | undefined {
    const windows = this.#windows.get(windowSeconds);
    if (windows === undefined) {
      if (this.#windows.size >= LENGTHS_MAX) this.#dropOthers(this.#clock() / 1000);
      return this.#windows.size >= LENGTHS_MAX ? undefined : this.#begin(windowStartSeconds, windowSeconds, []);
    }
    for (const window of windows) if (window.startSeconds === windowStartSeconds) return window;
    return this.#begin(windowStartSeconds, windowSeconds, windows);
  }

  /**
   * Begins a window. The one before it is kept for calls that began then, and so are later ones: the
   * clock was set back, and will come to them again. Earlier ones are dropped.
   */
  #begin(startSeconds: number, windowSeconds: number, others: readonly Window[]): Window {
    const window: Window = { startSeconds, counts: new CountTable() };
    const kept = others.filter((other) => other.startSeconds >= startSeconds - windowSeconds);
    const latestFirst = [...kept, window].sort((one, other) => other.startSeconds - one.startSeconds);
    this.#windows.set(windowSeconds, latestFirst.slice(-WINDOWS_MAX));
    return window;
  }

  #hasRoom(): boolean {
    if (this.#size() < this.#maxKeys) return true;
    this.#dropOthers(this.#clock() / 1000);
    return this.#size() < this.#maxKeys;
  }

  #size(): number {
    let { size } = this.#cells;
    for (const windows of this.#windows.values()) for (const { counts } of windows) size += counts.size;
    return size;
  }

  /** Drops the windows that do not contain the moment, and the cells that are whole. */
  #dropOthers(nowSeconds: number): void {
    this.#cells.drop(nowSeconds * 1000);
    for (const [windowSeconds, windows] of this.#windows) {
      const live = windows.filter(
        ({ startSeconds }) => startSeconds <= nowSeconds && nowSeconds < startSeconds + windowSeconds,
      );
      if (live.length === 0) this.#windows.delete(windowSeconds);
      else this.#windows.set(windowSeconds, live);
    }
  }
}

function randomSeed(): HashSeed {
  const [low = 0, high = 0] = getRandomValues(new Int32Array(2));
  return { low, high };
}
