// Random numbers from a seed, so that what a run of the fuzzer did can be done again. Nothing here
// is secure, nor meant to be.

/** A stream of random numbers that is the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.#next() / 2 ** 32) * limit);
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True once in `times`, on the average. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of the choices, of which there is at least one. */
  pick<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.below(choices.length)]!;
  }

  /** Random bytes. */
  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let index = 0; index < length; index++) bytes[index] = this.#next() >>> 24;
    return bytes;
  }

  /** At most `lengthMax` characters of `alphabet`. */
  text(alphabet: string, lengthMax: number): string {
    const characters = Array.from(alphabet);
    return Array.from({ length: this.below(lengthMax + 1) }, () => this.pick(characters)).join("");
  }

  /** A stream of its own, which this one's later use does not change. */
  fork(): Random {
    return new Random(this.#next());
  }

  /**
   * splitmix32: every state gives another number, and neighbouring seeds have nothing in common.
   */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
