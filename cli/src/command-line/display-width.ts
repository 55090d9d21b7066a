// Measures text in columns of a terminal: East Asian characters and emoji take two, combining marks
// none. Pure.

const CLUSTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Text with one column per character. */
const PLAIN = /^[ -~]*$/;

/** Characters without a column: marks and format characters. */
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/gu;

/** Unicode's East Asian Width W and F, in blocks, and emoji. Terminals show all others narrow. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/u;

/** The grapheme clusters of a text, with the columns of each. */
export function clustersOf(text: string): readonly { readonly text: string; readonly width: number }[] {
  return Array.from(CLUSTERS.segment(text), ({ segment }) => ({
    text: segment,
    // Letters of one cluster, as in Thai and Devanagari, take a column each.
    width: WIDE.test(segment) ? 2 : Array.from(segment.replace(INVISIBLE, "")).length,
  }));
}

/** The columns of a text on one line, as `printable` makes it. */
export function displayWidth(text: string): number {
  return PLAIN.test(text) ? text.length : clustersOf(text).reduce((sum, { width }) => sum + width, 0);
}

/** The text padded with spaces to at least `width` columns. */
export function padToWidth(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}
