// Cleaning of statistic names.
import { describe, expect, it } from "vitest";
import { cleanNamePart } from "./statistic-name.ts";

describe("cleanNamePart()", () => {
  it.each([
    { text: "domain.path_/foo:*:bar", clean: "domain.path_/foo_*_bar" },
    { text: "a|b", clean: "a_b" },
    { text: "ip_10.0.200.3", clean: "ip_10_0_200_3" },
    { text: "ip_10.0.200.3.path", clean: "ip_10_0_200_3.path" },
    { text: "1.2.3", clean: "1.2.3" },
    { text: "a b.c/d*", clean: "a b.c/d*" },
    { text: "line\r\nbreak\u0000", clean: "line__break_" },
  ])("case 180: cleanNamePart() makes $clean of $text", ({ text, clean }) => {
    expect(cleanNamePart(text)).toBe(clean);
  });
});
