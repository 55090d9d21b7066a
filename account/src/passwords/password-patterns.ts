// Finds passwords that are only repeated or sequential characters (NIST SP 800-63B section 3.1.1.2), and
// the words in passwords that are one word with digits or signs.

/** Fewest characters of a run: two neighbours are in most passwords by chance. */
const RUN_MIN_LENGTH = 3;

/** Longest unit that counts as repeated characters, as in abab or xyzxyz. */
const UNIT_MAX_LENGTH = 3;

/** Shortest word that is looked for within a password, in characters: the shortest common one. */
const CORE_MIN_LENGTH = 3;

/** The rows of letters of a keyboard; digits are a row in the order of their values. */
const KEYBOARD_ROWS = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/** Returns true if the second character follows the first in one of the ways that people type. */
type Relation = (first: string, second: string) => boolean;

const isNext: Relation = (first, second) =>
  second.codePointAt(0) === Number(first.codePointAt(0)) + 1 || (first === "9" && second === "0");

const isRight: Relation = (first, second) => KEYBOARD_ROWS.some((row) => row.includes(first + second));

const RELATIONS: readonly Relation[] = [
  (first, second) => first === second,
  isNext,
  (first, second) => isNext(second, first),
  isRight,
  (first, second) => isRight(second, first),
];

/**
 * Returns true if the password, in lower case, is one short unit repeated, or nothing but runs of equal
 * or neighbouring characters such as `aaaa`, `1234`, `dcba` and `qwer`.
 */
export function isPattern(password: string): boolean {
  const characters = Array.from(password);
  return isRepeatedUnit(characters) || isOnlyRuns(characters);
}

/**
 * The password, and what is left of it without some of the characters before its first and after its
 * last letter: `sunshine2024`, `sunshine202` and so on to `sunshine`.
 */
export function coresOf(password: string): readonly string[] {
  const characters = Array.from(password);
  const isLetter = (character: string): boolean => /\p{L}/u.test(character);
  const lastStart = characters.findIndex(isLetter);
  const firstEnd = characters.findLastIndex(isLetter) + 1;
  const cores = [password];
  for (let start = 0; start <= lastStart; start++)
    for (let end = Math.max(firstEnd, start + CORE_MIN_LENGTH); end <= characters.length; end++)
      cores.push(characters.slice(start, end).join(""));
  return cores;
}

function isRepeatedUnit(characters: readonly string[]): boolean {
  for (let length = 1; length <= UNIT_MAX_LENGTH && length * 2 <= characters.length; length++)
    if (characters.every((character, index) => character === characters[index % length])) return true;
  return false;
}

function isOnlyRuns(characters: readonly string[]): boolean {
  for (let start = 0; start < characters.length;) {
    const length = Math.max(...RELATIONS.map((relation) => runLength(characters, start, relation)));
    if (length < RUN_MIN_LENGTH) return false;
    start += length;
  }
  return true;
}

function runLength(characters: readonly string[], start: number, relation: Relation): number {
  let end = start + 1;
  while (end < characters.length && relation(String(characters[end - 1]), String(characters[end]))) end += 1;
  return end - start;
}
