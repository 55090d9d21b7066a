// Rules that no request can reach, compared with the real matcher over every short request.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compositeKey, type DescriptorModel } from "../model/model.ts";
import { compileRules } from "./compile.ts";
import { findShadowedRules } from "./shadowed.ts";

function rule(key: string, value = "", descriptors: readonly DescriptorModel[] = []): DescriptorModel {
  const flags = {
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
  };
  return { key, value, descriptors, ...flags };
}

/** The paths of shadowed rules and what shadows them, such as `0.1 < 0.0`. */
function shadows(...rules: readonly DescriptorModel[]): readonly string[] {
  const text = (path: readonly (string | number)[]): string =>
    path.filter((step) => typeof step === "number").join(".");
  return findShadowedRules(rules).map(({ path, by }) => `${text(path)} < ${text(by)}`);
}

describe("findShadowedRules()", () => {
  it.each([
    { title: "no patterns", rules: [rule("a"), rule("a", "b"), rule("b")], expected: [] },
    { title: "a pattern after its wider one", rules: [rule("a", "*"), rule("a", "b*")], expected: ["1 < 0"] },
    { title: "a pattern before its wider one", rules: [rule("a", "b*"), rule("a", "*")], expected: [] },
    { title: "a pattern of equal reach", rules: [rule("a", "*"), rule("a", "**")], expected: ["1 < 0"] },
    { title: "a key whose values all match a pattern", rules: [rule("a"), rule("a", "*")], expected: ["0 < 1"] },
    { title: "a key some of whose values match", rules: [rule("a"), rule("a", "b*")], expected: [] },
    { title: "an exact value, which comes before patterns", rules: [rule("a", "*"), rule("a", "b")], expected: [] },
    {
      title: "a pattern of keys that takes every key",
      rules: [rule("*"), rule("a"), rule("b*")],
      expected: ["1 < 0", "2 < 0"],
    },
    {
      title: "the separator in a pattern that every request has",
      rules: [rule("a*_*"), rule("a*")],
      expected: ["1 < 0"],
    },
    { title: "the separator in the text of the wider pattern", rules: [rule("a", "*"), rule("a*")], expected: [] },
    { title: "two patterns with one suffix", rules: [rule("a", "*c"), rule("a", "b*c")], expected: ["1 < 0"] },
    { title: "patterns that overlap", rules: [rule("a", "b*"), rule("a", "*c")], expected: [] },
    { title: "a rule below", rules: [rule("x", "", [rule("a", "*"), rule("a")])], expected: ["0.1 < 0.0"] },
    {
      title: "the rules below a shadowed rule once",
      rules: [rule("a", "*"), rule("a", "b*", [rule("c", "*"), rule("c")])],
      expected: ["1 < 0"],
    },
  ])("findShadowedRules() finds $expected among $title", ({ rules, expected }) => {
    expect(shadows(...rules)).toEqual(expected);
  });

  it("findShadowedRules() agrees with the matcher on every request of few characters", () => {
    const letters = ["a", "_", "z"]; // No rule contains z.
    const texts = [""];
    for (let from = 0, length = 0; length < 4; length++) {
      const end = texts.length;
      for (; from < end; from++) texts.push(...letters.map((letter) => `${texts[from]}${letter}`));
    }
    const entries = texts.flatMap((key) =>
      texts.filter((value) => key.length + value.length <= 6).map((value) => ({ key, value })),
    );
    const text = fc.array(fc.constantFrom("a", "_", "*"), { minLength: 1, maxLength: 2 }).map((each) => each.join(""));
    const rules = fc.uniqueArray(fc.record({ key: text, value: fc.oneof(fc.constant(""), text) }), {
      selector: compositeKey,
      minLength: 2,
      maxLength: 4,
    });
    fc.assert(
      fc.property(rules, (pairs) => {
        const level = pairs.map(({ key, value }) => rule(key, value));
        const compiled = compileRules([{ name: "n", domain: "d", descriptors: level }], {
          rule: () => undefined,
          dynamic: () => undefined,
        }).domain("d")!;
        const reached = new Set(entries.map((entry) => compiled.steps([entry])[0]?.node.composite));
        const unreached = pairs.flatMap((pair, index) => (reached.has(compositeKey(pair)) ? [] : [index]));
        expect(findShadowedRules(level).map(({ path }) => path[1])).toEqual(unreached);
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  it("does not look at a level of a thousand long patterns, which would take seconds, but at small ones after it", () => {
    const long = Array.from({ length: 1000 }, (_, index) => rule("a", `*${"a".repeat(500)}${index}*`));
    const small = rule("b", "", [rule("a", "*"), rule("a", "b*")]);
    expect(shadows(rule("a", "*"), ...long, small)).toEqual(["1001.1 < 1001.0"]);
    expect(shadows(rule("a", "*"), ...long.slice(0, 100), small)).toHaveLength(101);
  });
});
