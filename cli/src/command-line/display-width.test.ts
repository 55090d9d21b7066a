// Tests of display-width.ts with the texts of names and messages.
import { describe, expect, it } from "vitest";

import { displayWidth, padToWidth } from "./display-width.ts";

describe("displayWidth()", () => {
  it.each([
    { text: "", width: 0 },
    { text: "shop 1/2 – done", width: 15 },
    { text: "Größe × 3", width: 9 },
    { text: "Привет", width: 6 },
    { text: "限制", width: 4 },
    { text: "テスト", width: 6 },
    { text: "ﾃｽﾄ", width: 3 }, // Half-width on purpose.
    { text: "한국어", width: 6 },
    { text: "\u1112\u1161\u11ab", width: 2 }, // 한, of its parts.
    { text: "ＡＢ", width: 4 },
    { text: "𠮷", width: 2 }, // Two code units.
    { text: "e\u0301", width: 1 },
    { text: "\u0301", width: 0 },
    { text: "a\u200bb", width: 2 },
    { text: "नमस्ते", width: 4 },
    { text: "กำหนด", width: 5 },
    { text: "🚀", width: 2 },
    { text: "👩🏽‍💻", width: 2 },
    { text: "🇩🇪", width: 2 },
    { text: "❤\ufe0f", width: 2 },
    { text: "1", width: 1 },
    { text: "→ … “", width: 5 },
  ])("gives $width for $text", ({ text, width }) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe("padToWidth()", () => {
  it("adds spaces up to the width, and none to what is wider", () => {
    expect([padToWidth("限制", 6), padToWidth("abc", 6), padToWidth("限制", 3)]).toEqual(["限制  ", "abc   ", "限制"]);
  });
});
