// Texts for tests that try many: they look random and are the same in every run.

/** A source of texts. */
export interface Draws {
  /** Up to `lengthMax` characters out of `alphabet`. */
  text(alphabet: string, lengthMax: number): string;
}

/** Starts drawing; equal seeds draw equal texts. */
export function createDraws(seed: number): Draws {
  let state = seed;
  // The generator of Numerical Recipes; its upper bits are good enough to choose letters.
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return {
    text(alphabet, lengthMax) {
      const characters = Array.from(alphabet);
      return Array.from({ length: below(lengthMax + 1) }, () => characters[below(characters.length)] ?? "").join("");
    },
  };
}
