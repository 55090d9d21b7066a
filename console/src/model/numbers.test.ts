import { describe, expect, it } from "vitest";

import { countText, dateText, latencyText, rateText, shareText, sinceText } from "./numbers.ts";
import { visible } from "./visible.ts";

describe("texts", () => {
  it.each([
    { text: countText(999), expected: "999" },
    { text: countText(1234567), expected: "1\u202f234\u202f567" },
    { text: rateText(0), expected: "0" },
    { text: rateText(0.04), expected: "< 0.1" },
    { text: rateText(9.96), expected: "10.0" },
    { text: rateText(1234.5), expected: "1\u202f235" },
    { text: latencyText(undefined), expected: "none" },
    { text: latencyText(0.0625), expected: "≤ 0.063 ms" },
    { text: latencyText(90.5), expected: "≤ 91 ms" },
    { text: shareText(0.004), expected: "< 1 %" },
    { text: shareText(0.5), expected: "50 %" },
    { text: dateText(1_000_000_000), expected: "2001-09-09 01:46:40 UTC" },
    { text: sinceText({ seconds: 0, isEarlier: true }), expected: "before 00:00:00 UTC" },
    { text: visible("a\u202eb\u0000\nc", "\n"), expected: "a\\u{202e}b\\u{0}\nc" },
    { text: visible("Ünïcödé 😀"), expected: "Ünïcödé 😀" },
  ])("are like $expected", ({ text, expected }) => expect(text).toBe(expected));
});
