// Finds characters that make a text look like another one, or that hide in it, after UTS #39 and
// "Trojan Source" (CVE-2021-42574). Pure. A word of one script is never one of them.

/** Most characters that are named of one kind. */
const NAMED_MAX = 3;

const ASCII = /^[\x20-\x7e]*$/;

/**
 * Alphabets with letters that look like those of another one. Words of other scripts, such as
 * Japanese, have Latin letters in good faith.
 */
const SCRIPTS = [
  { name: "Latin", letter: /\p{Script=Latin}/u },
  { name: "Cyrillic", letter: /\p{Script=Cyrillic}/u },
  { name: "Greek", letter: /\p{Script=Greek}/u },
  { name: "Armenian", letter: /\p{Script=Armenian}/u },
  { name: "Coptic", letter: /\p{Script=Coptic}/u },
  { name: "Cherokee", letter: /\p{Script=Cherokee}/u },
  { name: "Lisu", letter: /\p{Script=Lisu}/u },
];

const WORD = /[\p{Letter}\p{Mark}]+/gu;

const BIDI_CONTROL = /\p{Bidi_Control}/gu;

/**
 * An emoji; a joiner in a script that is written with them, as Persian is; or what is found, an
 * invisible character. The scripts are Arabic with its relatives, and those of India and around it.
 */
const INVISIBLE =
  /\p{RGI_Emoji}|(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}])[\u200c\u200d]|(?<found>[\p{Default_Ignorable_Code_Point}--\p{Bidi_Control}])/gv;

/** Characters that may be a form of an ASCII letter, digit or space: those of the blocks with such forms. */
const FORM =
  /[[\p{Letter}\p{Nd}\p{Zs}]&&[\u00a0\u017f\u2000-\u205f\u2100-\u214f\uff10-\uff5a\u{1d400}-\u{1d6a3}\u{1d7ce}-\u{1d7ff}\u{1ccf0}-\u{1ccf9}\u{1fbf0}-\u{1fbf9}]]/gv;

/**
 * Finds characters of a text that are perhaps not meant: returns each reason, with the first code
 * points and their places from 1. Stops at what it names, so that a long text costs little.
 */
export function deceptiveCharacters(text: string): readonly string[] {
  if (ASCII.test(text)) return [];
  const scripts = SCRIPTS.filter(({ letter }) => letter.test(text));
  const mixed = [...mixedLetters(text, scripts).take(NAMED_MAX + 1)];
  const kinds = [
    { what: "bidirectional controls, which change the order of what is shown", at: placesOf(text, BIDI_CONTROL) },
    { what: "invisible characters", at: placesOf(text, INVISIBLE) },
    { what: "characters that look like ASCII", at: placesOf(text, FORM, isFormOfAscii) },
    { what: `${mixed[0]?.scripts} letters in one word, which look alike`, at: mixed.map(({ index }) => index) },
  ];
  return kinds.flatMap(({ what, at }) => (at.length === 0 ? [] : [`has ${what}: ${listed(text, at)}`]));
}

/** Indices of the first characters that a pattern finds, in the group `found` when it has one. */
function placesOf(
  text: string,
  pattern: RegExp,
  isMeant: (character: string) => boolean = () => true,
): readonly number[] {
  return text
    .matchAll(pattern)
    .filter(({ 0: character, groups }) => (groups === undefined || groups["found"] !== undefined) && isMeant(character))
    .map(({ index }) => index)
    .take(NAMED_MAX + 1)
    .toArray();
}

/** Returns true if the character is a form of one of ASCII, such as a full-width or mathematical letter. */
function isFormOfAscii(character: string): boolean {
  const form = character.normalize("NFKC");
  return form.length === 1 && ASCII.test(form);
}

/** The letters in words of several scripts, of all but the first of them that the word has. */
function* mixedLetters(
  text: string,
  scripts: typeof SCRIPTS,
): Generator<{ readonly scripts: string; readonly index: number }> {
  if (scripts.length < 2) return;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const found = scripts.filter(({ letter }) => letter.test(word));
    const [, ...others] = found;
    if (others.length === 0) continue;
    let at = index;
    for (const character of word) {
      if (others.some(({ letter }) => letter.test(character)))
        yield { scripts: found.map(({ name }) => name).join(" and "), index: at };
      at += character.length;
    }
  }
}

function listed(text: string, indices: readonly number[]): string {
  const named = indices.slice(0, NAMED_MAX).map((index) => {
    const code = text.codePointAt(index) ?? 0;
    return `U+${code.toString(16).toUpperCase().padStart(4, "0")} at character ${Array.from(text.slice(0, index)).length + 1}`;
  });
  return `${named.join(", ")}${indices.length > NAMED_MAX ? " and more" : ""}`;
}
