// Counters in the memory of the process: exact, lost when it ends, not shared with replicas. The
// number of keys is bounded, and ended windows are dropped as a whole: no key has a timer.
import { hash } from "node:crypto";
import type { CountBatch, CountedCheck, Counter } from "../counter.ts";
import { StoreError } from "../store-error.ts";

/**
 * Longest key that is stored as it is, in UTF-16 units; of a longer one, up to megabytes, the
 * digest is.
 */
const KEY_MAX_LENGTH = 256;

/** Settings of the memory backend. */
export interface MemoryCounterOptions {
  /**
   * MEMORY_MAX_KEYS: most counters, about 150 bytes each and never more than 700. A full table
   * refuses new keys (STORE_FULL) and counts the known ones: deleting a count would admit callers
   * over their limit. Default 1000000.
   */
  readonly maxKeys: number;
}

/** The counts of one window. */
interface Window {
  readonly startSeconds: number;
  /** Mutable cells, so that an increment looks up its key once. */
  readonly counts: Map<string, Cell>;
}

/** One counter. */
interface Cell {
  count: number;
}

/**
 * The windows of one length. The previous one is kept until the next window begins, for calls that
 * began before and for clocks that are set back.
 */
interface Track {
  current: Window;
  previous: Window | undefined;
}

/** The memory backend. */
export class MemoryCounter implements Counter {
  readonly name = "memory counters";
  readonly errorType = "memory_error";
  readonly #maxKeys: number;
  readonly #clock: () => number;
  /** By window length in seconds: one entry per unit. */
  readonly #tracks = new Map<number, Track>();

  /** `clock` returns milliseconds since the epoch; it is called only when the table is full. */
  constructor({ maxKeys }: MemoryCounterOptions, clock: () => number = Date.now) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
  }

  count(batch: CountBatch): void {
    for (const check of batch.checks) {
      if (!this.#increment(check)) {
        const message = `Cannot count a new key: the memory backend holds its maximum of ${this.#maxKeys} keys`;
        batch.failed(new StoreError("STORE_FULL", message, { transient: true }));
        return;
      }
    }
    batch.counted();
  }

  read(batch: CountBatch): void {
    for (const check of batch.checks) check.after = this.#windowOf(check).counts.get(heldKey(check.key))?.count ?? 0;
    batch.counted();
  }

  /**
   * Adds to a counter and sets the sum on the check; false when the key is new and the table is
   * full.
   */
  #increment(check: CountedCheck): boolean {
    const { counts } = this.#windowOf(check);
    const key = heldKey(check.key);
    const cell = counts.get(key);
    if (cell === undefined) {
      // Reading a counter that does not exist creates none.
      if (check.addend > 0) {
        if (!this.#hasRoom()) return false;
        counts.set(key, { count: check.addend });
      }
      check.after = check.addend;
      return true;
    }
    cell.count = Math.min(cell.count + check.addend, Number.MAX_SAFE_INTEGER);
    check.after = cell.count;
    return true;
  }

  #windowOf(check: CountedCheck): Window {
    const { windowSeconds, windowStartSeconds } = check;
    const track = this.#tracks.get(windowSeconds);
    if (track?.current.startSeconds === windowStartSeconds) return track.current;
    if (track?.previous?.startSeconds === windowStartSeconds) return track.previous;
    const window: Window = { startSeconds: windowStartSeconds, counts: new Map() };
    if (track === undefined) {
      this.#tracks.set(windowSeconds, { current: window, previous: undefined });
    } else {
      track.previous = track.current;
      track.current = window;
    }
    return window;
  }

  #hasRoom(): boolean {
    if (this.#size() < this.#maxKeys) return true;
    this.#dropEnded(this.#clock() / 1000);
    return this.#size() < this.#maxKeys;
  }

  #size(): number {
    let size = 0;
    for (const { current, previous } of this.#tracks.values())
      size += current.counts.size + (previous?.counts.size ?? 0);
    return size;
  }

  /** Drops windows that ended before the moment. */
  #dropEnded(nowSeconds: number): void {
    for (const [windowSeconds, track] of this.#tracks) {
      if (track.previous !== undefined && track.previous.startSeconds + windowSeconds <= nowSeconds)
        track.previous = undefined;
      if (track.current.startSeconds + windowSeconds <= nowSeconds) this.#tracks.delete(windowSeconds);
    }
  }
}

function heldKey(key: string): string {
  return key.length <= KEY_MAX_LENGTH ? key : hash("sha256", key, "base64url");
}
