// Finds the command of a key in the open batch, so that hits on a hot key become one INCRBY. A key
// that is not found has a command of its own, which is exact, too: so the search may be bounded.
import type { KeyChecks } from "./key-checks.ts";

/** Slots of an empty index, and most slots: 128 KiB. Powers of two. */
const SLOTS_MIN = 256;
const SLOTS_MAX = 16_384;

/** Most slots that are looked at for one key. */
const PROBES_MAX = 8;

/** No slot is free for the key that was searched. */
const NONE = -1;

/** The index of one server; it forgets a batch without being emptied. */
export class KeyIndex {
  /** Per slot the epoch in which it was filled, and the position of the command in the batch. */
  #slots = new Int32Array(2 * SLOTS_MIN);
  #mask = SLOTS_MIN - 1;
  /** The number of the open batch: slots of other epochs are free. */
  #epoch = 1;
  #used = 0;
  /** Where the key that was searched last belongs. */
  #slot = NONE;

  /** Forgets all keys: a batch is opened. */
  clear(): void {
    this.#epoch = (this.#epoch + 1) | 0;
    this.#used = 0;
  }

  /** The latest command of a key among those of the batch; `hash` and `tag` are of KeyHash. */
  find(key: string, hash: number, tag: number, commands: readonly KeyChecks[]): KeyChecks | undefined {
    const slots = this.#slots;
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = 2 * ((hash + probe) & this.#mask);
      this.#slot = slot;
      if (slots[slot] !== this.#epoch) return undefined;
      const found = commands[slots[slot + 1] ?? 0];
      if (found?.hash === hash && found.tag === tag && found.key === key) return found;
    }
    this.#slot = NONE;
    return undefined;
  }

  /** Notes that the key that was searched last has the command at the end of `commands`. */
  put(commands: readonly KeyChecks[]): void {
    if (this.#slot === NONE) return;
    if (this.#slots[this.#slot] !== this.#epoch) this.#used += 1;
    this.#slots[this.#slot] = this.#epoch;
    this.#slots[this.#slot + 1] = commands.length - 1;
    if (2 * this.#used > this.#mask && this.#mask < SLOTS_MAX - 1) this.#grow(commands);
  }

  #grow(commands: readonly KeyChecks[]): void {
    this.#mask = 2 * this.#mask + 1;
    this.#slots = new Int32Array(2 * (this.#mask + 1));
    this.#used = 0;
    commands.forEach(({ key, hash, tag }, position) => {
      this.find(key, hash, tag, commands);
      if (this.#slot === NONE) return;
      if (this.#slots[this.#slot] !== this.#epoch) this.#used += 1;
      this.#slots[this.#slot] = this.#epoch;
      this.#slots[this.#slot + 1] = position;
    });
  }
}
