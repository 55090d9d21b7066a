// Why a rule of a level was taken for an entry, or not, in words: of `weir explain` and of the console.

/** By `Candidate.verdict` of the API of the console. */
export const VERDICT_TEXTS = {
  exact: "taken: exactly this value",
  pattern: "taken: the first pattern that matches",
  "any-value": "taken: any value of this key",
  "comes-later": "matches too, but comes later",
  "pattern-differs": "the pattern does not match",
  "value-differs": "another value",
  "key-differs": "another key",
} as const;

/** The verdicts of a rule that was taken. */
export const TAKEN_VERDICTS: ReadonlySet<string> = new Set(["exact", "pattern", "any-value"]);
