// Go's regular expressions: what they match, which are invalid, and random texts.
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import { compileGoPattern } from "./go-pattern.ts";

function firstMatch(source: string, text: string): string | undefined {
  const compiled = compileGoPattern(source);
  if (!compiled.ok) throw new Error(compiled.reason);
  return compiled.pattern.exec(text)?.[0];
}

describe("compileGoPattern()", () => {
  it.each([
    { source: "a.c", text: "xabcx", match: "abc" },
    { source: "a.c", text: "a\nc", match: undefined },
    { source: "a.c", text: "a\rc", match: "a\rc" },
    { source: "(?s)a.c", text: "a\nc", match: "a\nc" },
    { source: "(?i)ABC", text: "xabc", match: "abc" },
    { source: "a(?s:.)c", text: "a\nc", match: "a\nc" },
    { source: "[[:^alpha:]]+", text: "ab12c", match: "12" },
    { source: "(?i:A)b", text: "ab", match: "ab" },
    { source: "(?P<key>\\w+)_(?<value>\\d+)", text: "-k_12", match: "k_12" },
    { source: "\\Aa", text: "ba", match: undefined },
    { source: "(?m)\\Aa\\z", text: "b\na", match: undefined },
    { source: "(?m)^a$", text: "b\na", match: "a" },
    { source: "a\\z", text: "aa", match: "a" },
    { source: "[[:alpha:]_]+", text: "12ab_3", match: "ab_" },
    { source: "[^[:digit:]]+", text: "12ab3", match: "ab" },
    { source: "[]a]+", text: "x]a]", match: "]a]" },
    { source: "[^]a]+", text: "]xy]", match: "xy" },
    { source: "[[]", text: "a[b", match: "[" },
    { source: "[\\]\\-\\.]+", text: "a.-]", match: ".-]" },
    { source: "\\Qa.b+\\E+", text: "xa.b++", match: "a.b++" },
    { source: "\\Qa.b", text: "xa.b", match: "a.b" },
    { source: "\\_\\-\\/\\:", text: "_-/:", match: "_-/:" },
    { source: "a{,2}", text: "a{,2}", match: "a{,2}" },
    { source: "a{2,3}?", text: "aaaa", match: "aa" },
    { source: "{}]", text: "{}]", match: "{}]" },
    { source: "\\x41\\x{1F600}", text: "A\u{1f600}", match: "A\u{1f600}" },
    { source: "^.$", text: "\u{1f600}", match: "\u{1f600}" },
    { source: "\\pL+\\p{Lu}", text: "1éÉ", match: "éÉ" },
    { source: "\\p{Greek}", text: "aλ", match: "λ" },
    { source: "a\\sb", text: "a b", match: "a b" },
    { source: "a\\sb", text: "a\u00a0b", match: undefined },
    { source: "[\\s]\\S", text: "a b", match: " b" },
  ])("compileGoPattern() finds $match with $source", ({ source, text, match }) => {
    expect(firstMatch(source, text)).toBe(match);
  });

  it.each([
    { source: "(a", reason: "error parsing regexp: missing closing ): `(a`" },
    { source: "a**", reason: "invalid nested repetition operator: `**`" },
    { source: "[a", reason: "missing closing ]: `[a`" },
    { source: "[[:letter:]]", reason: "invalid character class range: `[:letter:]`" },
    { source: "(a)\\1", reason: "invalid escape sequence: `\\1`" },
    { source: "a(?=b)", reason: "invalid or unsupported Perl syntax: `(?=`" },
    { source: "(?<!a)b", reason: "invalid named capture: `(?<!a)b`" },
    { source: "a{1001}", reason: "invalid repeat count: `{1001}`" },
    { source: "a\\", reason: "trailing backslash at end of expression" },
    { source: "\\y", reason: "invalid escape sequence: `\\y`" },
    { source: "(?P<x>a)(?P<x>b)", reason: "duplicate capture group name: `x`" },
    { source: "a".repeat(4097), reason: "it is longer than 4096 characters" },
  ])("compileGoPattern() refuses $source", ({ source, reason }) => {
    expect(compileGoPattern(source)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) as string });
  });

  it("compileGoPattern() compiles or refuses, and never throws, whatever is written", () => {
    const random = new Random(1);
    let compiledCount = 0;
    for (let round = 0; round < 5000; round++) {
      const compiled = compileGoPattern(random.text("ab(?P<>[]{}^$\\.*+|-:=!,0129QEAzswDdpLx\u{1f600}", 14));
      if (!compiled.ok) continue;
      compiledCount += 1;
      compiled.pattern.exec(random.text("ab01.-\n", 12));
    }
    expect(compiledCount).toBeGreaterThan(200);
  });

  it("compileGoPattern() matches in linear time where backtracking would take years", () => {
    expect(firstMatch("^(a+)+$", `${"a".repeat(5000)}!`)).toBeUndefined();
  });

  it("compileGoPattern() reads a quoted text as that text", () => {
    const random = new Random(2);
    for (let round = 0; round < 2000; round++) {
      const text = random.text("ab(?)[]{}^$.*+|-:/_é\u{1f600}\n", 12);
      expect(firstMatch(`\\A\\Q${text}\\E\\z`, text)).toBe(text);
    }
  });
});
