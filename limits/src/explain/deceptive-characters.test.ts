// Texts that look like others, and texts of all scripts that do not.
import { describe, expect, it } from "vitest";

import { deceptiveCharacters } from "./deceptive-characters.ts";

const MIXED = "letters in one word, which look alike";
const ORDER = "has bidirectional controls, which change the order of what is shown";

describe("deceptiveCharacters()", () => {
  it.each([
    { what: "nothing", text: "" },
    { what: "ASCII", text: "user-1_a.b/*:[x]" },
    { what: "Latin with diacritics", text: "Łódź façade ĳs naïve Þorn" },
    { what: "decomposed diacritics", text: "fac\u0327ade" },
    { what: "Cyrillic", text: "раура1 привет-мир" },
    { what: "Greek", text: "Ελλάδα" },
    { what: "Armenian", text: "Հայաստան" },
    { what: "Hebrew", text: "שלום" },
    { what: "Arabic", text: "مرحبا" },
    { what: "Persian with its joiner", text: "می\u200cخواهم" },
    { what: "Devanagari with its joiner", text: "क्\u200dष" },
    { what: "Thai", text: "สวัสดี" },
    { what: "Japanese with Latin", text: "東京タワーTシャツ" },
    { what: "Japanese with its space and punctuation", text: "東京　（大阪）" },
    { what: "half-width Katakana", text: "ﾃｽﾄ" },
    { what: "Korean with Latin", text: "한국K팝" },
    { what: "words of two scripts", text: "user админ" },
    { what: "scripts of parts of a name", text: "β-test_пользователь.web" },
    { what: "units and ordinals", text: "10 µs, m², 1º 2ª, ½, №5, 20 €" },
    { what: "emoji", text: "❤️ 👨‍👩‍👧 1️⃣ 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}" },
    { what: "a lone surrogate", text: "\ud800" },
  ])("finds nothing in $what", ({ text }) => {
    expect(deceptiveCharacters(text)).toEqual([]);
  });

  it.each([
    { text: "pаypal", found: [`has Latin and Cyrillic ${MIXED}: U+0430 at character 2`] },
    { text: "user_аdmin", found: [`has Latin and Cyrillic ${MIXED}: U+0430 at character 6`] },
    { text: "αβγ pаypal", found: [`has Latin and Cyrillic ${MIXED}: U+0430 at character 6`] },
    { text: "gοοgle", found: [`has Latin and Greek ${MIXED}: U+03BF at character 2, U+03BF at character 3`] },
    { text: "аdmin аdmin", found: [`has Latin and Cyrillic ${MIXED}: U+0430 at character 1, U+0430 at character 7`] },
    { text: "Αдмин", found: [`has Cyrillic and Greek ${MIXED}: U+0391 at character 1`] },
    { text: "ոser", found: [`has Latin and Armenian ${MIXED}: U+0578 at character 1`] },
    {
      text: "сосоcola",
      found: [
        `has Latin and Cyrillic ${MIXED}: U+0441 at character 1, U+043E at character 2, U+0441 at character 3 and more`,
      ],
    },
    { text: "ad\u200bmin", found: ["has invisible characters: U+200B at character 3"] },
    { text: "admin\u00ad", found: ["has invisible characters: U+00AD at character 6"] },
    { text: "\ufeffadmin", found: ["has invisible characters: U+FEFF at character 1"] },
    { text: "admin\ufe0f", found: ["has invisible characters: U+FE0F at character 6"] },
    { text: "ad\u200dmin", found: ["has invisible characters: U+200D at character 3"] },
    { text: "ad\u3164min", found: ["has invisible characters: U+3164 at character 3"] },
    { text: "a\u{E0041}", found: ["has invisible characters: U+E0041 at character 2"] },
    { text: "😀\u200b", found: ["has invisible characters: U+200B at character 2"] },
    { text: "nimda\u202e", found: [`${ORDER}: U+202E at character 6`] },
    { text: "a\u2066b\u2069", found: [`${ORDER}: U+2066 at character 2, U+2069 at character 4`] },
    { text: "שלום\u200f", found: [`${ORDER}: U+200F at character 5`] },
    { text: "ａdmin", found: ["has characters that look like ASCII: U+FF41 at character 1"] },
    { text: "user１", found: ["has characters that look like ASCII: U+FF11 at character 5"] },
    { text: "𝐚dmin", found: ["has characters that look like ASCII: U+1D41A at character 1"] },
    { text: "𝐚dmin𝟏", found: ["has characters that look like ASCII: U+1D41A at character 1, U+1D7CF at character 6"] },
    { text: "\u212aey", found: ["has characters that look like ASCII: U+212A at character 1"] },
    { text: "a\u00a0b", found: ["has characters that look like ASCII: U+00A0 at character 2"] },
    {
      text: "pаy\u200bｌ\u202e",
      found: [
        `${ORDER}: U+202E at character 6`,
        "has invisible characters: U+200B at character 4",
        "has characters that look like ASCII: U+FF4C at character 5",
        `has Latin and Cyrillic ${MIXED}: U+0430 at character 2`,
      ],
    },
  ])("finds $found in $text", ({ text, found }) => {
    expect(deceptiveCharacters(text)).toEqual(found);
  });
});
