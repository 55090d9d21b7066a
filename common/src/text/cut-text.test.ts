import { expect, it } from "vitest";

import { cutText } from "./cut-text.ts";

it.each([
  { text: "short", maxBytes: 5, expected: "short" },
  { text: "longer", maxBytes: 5, expected: "lo…" },
  { text: "größer", maxBytes: 6, expected: "gr…" }, // Not half of the ö.
  { text: "a😀bc", maxBytes: 6, expected: "a…" },
  { text: "", maxBytes: 3, expected: "" },
])("cutText() makes $expected of $text in $maxBytes bytes", ({ text, maxBytes, expected }) => {
  expect(cutText(text, maxBytes)).toBe(expected);
});
