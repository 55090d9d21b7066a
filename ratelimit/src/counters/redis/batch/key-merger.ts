// Merges the checks of a batch by key: hits on a hot key become one INCRBY. Keys are encoded together
// and hashed as bytes: with a Map a decision takes 1.26 times as long at 8 × 64, and 1.10 at 16 × 1
// (docs/benchmark-trials.md).
import type { KeyChecks } from "./key-checks.ts";

/**
 * Longest key that is merged, in UTF-16 units: a request may contain megabytes. A longer one is sent as
 * envoyproxy/ratelimit sends every key: INCRBY and EXPIRE for each check.
 */
const KEY_MAX_LENGTH = 1024;

/**
 * Most keys that are compared with each other, and the length of their text. Keys beyond that are
 * compared among themselves: two commands for a key are exact, too, only one more.
 */
const ROUND_MAX_KEYS = 2048;
const ROUND_MAX_LENGTH = 64 * 1024;

/** Most bytes of a UTF-16 unit in UTF-8. */
const UNIT_MAX_BYTES = 3;

/** Slots of the table of a round, a power of two: a quarter of them is used at most. */
const SLOTS = 4 * ROUND_MAX_KEYS;

/** Most slots that are looked at for one key, so that crafted keys cost no more than others. */
const PROBES_MAX = 8;

/**
 * First values and multipliers of the two hashes; those of `hash` are of FNV-1a. There is no secret seed:
 * keys composed to collide cost PROBES_MAX comparisons and an EXPIRE each, as every new key does.
 */
const HASH_OFFSET = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;
const TAG_OFFSET = 0x1b873593;
const TAG_PRIME = 0x5bd1e995;

/** The memory of the merging, which all servers of a deployment share. */
export class KeyMerger {
  readonly #bytes = Buffer.allocUnsafeSlow((ROUND_MAX_LENGTH + KEY_MAX_LENGTH) * UNIT_MAX_BYTES);
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  /** Per slot the round in which it was filled, and the position of the key in `#found`. */
  readonly #slots = new Int32Array(2 * SLOTS);
  #round = 0;
  /** The first checks of the keys of this round, and where the bytes of these keys begin. */
  #found: KeyChecks[] = [];
  readonly #starts = new Int32Array(ROUND_MAX_KEYS);

  /**
   * Returns the first checks of each key, in order of arrival, with the others joined to them. A
   * read is joined to increments or refunds before it; an increment is joined neither to reads nor to
   * refunds, between which the count may have been at its floor of 0.
   */
  merge(pending: readonly KeyChecks[]): readonly KeyChecks[] {
    const first: KeyChecks[] = [];
    for (let from = 0; from < pending.length;) {
      const to = this.#encode(pending, from);
      this.#mergeRound(pending, { from, to }, first);
      from = to;
    }
    this.#found = []; // Else it would keep the last calls, with their requests, until others come.
    return first;
  }

  /** Encodes the keys of a round, and sets their `keyBytes`; returns where the round ends. */
  #encode(pending: readonly KeyChecks[], from: number): number {
    let text = "";
    let to = from;
    for (; to < pending.length && to < from + ROUND_MAX_KEYS && text.length < ROUND_MAX_LENGTH; to++) {
      const key = pending[to]?.check.key ?? "";
      if (key.length <= KEY_MAX_LENGTH) text += key;
    }
    const isAscii = this.#bytes.write(text, 0) === text.length;
    let start = 0;
    for (let at = from; at < to; at++) {
      const checks = pending[at];
      if (checks === undefined) continue;
      const { key } = checks.check;
      if (key.length > KEY_MAX_LENGTH) {
        checks.keyBytes = Buffer.byteLength(key);
        continue;
      }
      // Each by itself: halves of a character at the end of a key and the start of the next would join.
      checks.keyBytes = isAscii ? key.length : this.#bytes.write(key, start);
      start += checks.keyBytes;
    }
    return to;
  }

  #mergeRound(
    pending: readonly KeyChecks[],
    { from, to }: { readonly from: number; readonly to: number },
    first: KeyChecks[],
  ): void {
    this.#round = (this.#round + 1) | 0;
    this.#found = [];
    let start = 0;
    for (let at = from; at < to; at++) {
      const checks = pending[at];
      if (checks === undefined) continue;
      if (checks.check.key.length > KEY_MAX_LENGTH) {
        first.push(checks);
        continue;
      }
      this.#hash(checks, start);
      if (!this.#joins(checks, start)) first.push(checks);
      start += checks.keyBytes;
    }
  }

  /** Joins the checks to others of their key, or notes them as the first ones. */
  #joins(checks: KeyChecks, start: number): boolean {
    const slots = this.#slots;
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = 2 * ((checks.hash + probe) & (SLOTS - 1));
      const position = slots[slot + 1] ?? 0;
      const present = slots[slot] === this.#round ? this.#found[position] : undefined;
      if (present === undefined) {
        slots[slot] = this.#round;
        slots[slot + 1] = this.#found.length;
      } else if (!this.#isSameKey(present, this.#starts[position] ?? 0, checks, start)) {
        continue;
      } else if (present.joins(checks)) {
        present.join(checks);
        return true;
      } else {
        slots[slot + 1] = this.#found.length;
      }
      this.#starts[this.#found.length] = start;
      this.#found.push(checks);
      return false;
    }
    return false;
  }

  #isSameKey(present: KeyChecks, presentStart: number, checks: KeyChecks, start: number): boolean {
    const { keyBytes } = checks;
    if (present.hash !== checks.hash || present.tag !== checks.tag || present.keyBytes !== keyBytes) return false;
    const bytes = this.#bytes;
    const view = this.#view;
    let at = 0;
    for (; at + 4 <= keyBytes; at += 4) {
      if (view.getInt32(presentStart + at, true) !== view.getInt32(start + at, true)) return false;
    }
    for (; at < keyBytes; at++) if (bytes[presentStart + at] !== bytes[start + at]) return false;
    return true;
  }

  /** Hashes the key that begins at `start`, four bytes per step. */
  #hash(checks: KeyChecks, start: number): void {
    const bytes = this.#bytes;
    const view = this.#view;
    const end = start + checks.keyBytes;
    let hash = HASH_OFFSET;
    let tag = TAG_OFFSET;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const four = view.getInt32(at, true);
      hash = Math.imul(hash ^ four, HASH_PRIME);
      hash ^= hash >>> 15;
      tag = Math.imul(tag ^ four, TAG_PRIME);
      tag ^= tag >>> 13;
    }
    for (; at < end; at++) {
      hash = Math.imul(hash ^ (bytes[at] ?? 0), HASH_PRIME);
      tag = Math.imul(tag ^ (bytes[at] ?? 0), TAG_PRIME);
    }
    checks.hash = hash ^ (hash >>> 15);
    checks.tag = tag ^ (tag >>> 15);
  }
}
