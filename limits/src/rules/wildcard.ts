// Patterns in which each `*` matches zero or more characters. They match the composite `key_value` of
// an entry, which is only built where the answer needs it.

/** Joins key and value of an entry. */
export const SEPARATOR = "_";
const SEPARATOR_CODE = 95;

/** A compiled pattern. */
export interface Wildcard {
  /**
   * The key of the rule as configured; for an entry with the same key, only `valuePieces` must match
   * the value.
   */
  readonly key: string;
  /** The value of the rule split at `*`; undefined when the `*` is in the key. */
  readonly valuePieces: readonly string[] | undefined;
  /** The whole composite split at `*`. */
  readonly pieces: readonly string[];
}

/** Compiles a rule whose composite key contains `*`; undefined when it does not. */
export function compileWildcard(key: string, value: string): Wildcard | undefined {
  const composite = value === "" ? key : key + SEPARATOR + value;
  if (!composite.includes("*")) return undefined;
  return { key, valuePieces: key.includes("*") ? undefined : value.split("*"), pieces: composite.split("*") };
}

/** Returns true if the pattern matches the composite of this entry. */
export function matchesWildcard(wildcard: Wildcard, key: string, value: string): boolean {
  if (wildcard.valuePieces !== undefined && wildcard.key === key) return matchesPieces(wildcard.valuePieces, value);
  // Another key can still match, because `a` + `b_c` and `a_b` + `c` are one composite. The first
  // piece rules most of them out.
  const first = wildcard.pieces[0] ?? "";
  if (first.length <= key.length) {
    if (!key.startsWith(first)) return false;
  } else if (!first.startsWith(key) || first.charCodeAt(key.length) !== SEPARATOR_CODE) {
    return false;
  }
  return matchesPieces(wildcard.pieces, key + SEPARATOR + value);
}

/**
 * Starts with the first piece, ends with the last, and holds the others in between from left to
 * right without overlap.
 */
function matchesPieces(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? "";
  const last = pieces[pieces.length - 1] ?? "";
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (let index = 1; index < pieces.length - 1; index++) {
    const piece = pieces[index] ?? "";
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
