// Strings that most requests share, such as domains and keys of entries: each is made once, and has
// its hash for the maps of the rules from then on. A hot key takes 1.4 µs with them and 1.7 without
// (docs/benchmark-trials.md).

/** Number of strings that are kept, a power of two. */
const SLOTS = 256;

/** Longest string that is kept, in bytes. */
const KEPT_MAX_BYTES = 64;

/** A table of strings, each in the one slot that its bytes choose; the latest wins. */
export class KnownStrings {
  readonly #texts: string[] = new Array<string>(SLOTS).fill("");
  /** The bytes of each slot's string, and how many. */
  readonly #bytes = new Uint8Array(SLOTS * KEPT_MAX_BYTES);
  readonly #lengths = new Uint8Array(SLOTS);

  /** The kept string of these bytes; undefined when there is none. */
  find(bytes: Uint8Array, start: number, length: number): string | undefined {
    if (length === 0 || length > KEPT_MAX_BYTES) return undefined;
    const slot = slotOf(bytes, start, length);
    if (this.#lengths[slot] !== length) return undefined;
    const kept = this.#bytes;
    const base = slot * KEPT_MAX_BYTES;
    for (let index = 0; index < length; index++) if (bytes[start + index] !== kept[base + index]) return undefined;
    return this.#texts[slot];
  }

  /** Keeps the string of these bytes, unless it is too long. */
  keep(text: string, bytes: Uint8Array, start: number, length: number): void {
    if (length === 0 || length > KEPT_MAX_BYTES) return;
    const slot = slotOf(bytes, start, length);
    this.#texts[slot] = text;
    this.#lengths[slot] = length;
    this.#bytes.set(bytes.subarray(start, start + length), slot * KEPT_MAX_BYTES);
  }
}

/** A slot from the length and three of the bytes. */
function slotOf(bytes: Uint8Array, start: number, length: number): number {
  const first = bytes[start] ?? 0;
  const middle = bytes[start + (length >>> 1)] ?? 0;
  const last = bytes[start + length - 1] ?? 0;
  return (length + first * 3 + middle * 17 + last * 59) & (SLOTS - 1);
}
