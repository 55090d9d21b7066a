// Texts from outside without characters that hide, reorder or imitate others. Pure.

/** Controls, formats such as marks of direction, separators of lines, and what Unicode does not define. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}]/gu;

/** The text with an escape for each such character but those of `kept`. */
export function visible(text: string, kept = ""): string {
  return text.replaceAll(HIDDEN, (character) =>
    kept.includes(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
