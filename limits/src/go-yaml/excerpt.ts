// Shortens messages: what they quote may be as long as the text it comes from.

/**
 * Longest message or name of a field, in characters: the longest path of keys that the schema
 * allows still fits.
 */
const LENGTH_MAX = 10_000;

/** Kept of a longer one: its beginning says what is wrong, its end what is allowed. */
const BEGINNING_LENGTH = 200;
const END_LENGTH = 100;

/** The text, without its middle when it is too long to be read. */
export function excerpt(text: string): string {
  return text.length <= LENGTH_MAX ? text : `${text.slice(0, BEGINNING_LENGTH)}…${text.slice(-END_LENGTH)}`;
}
