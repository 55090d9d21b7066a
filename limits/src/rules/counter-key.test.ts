// Counter keys: the same text for the same parts, whatever was built before.
import { describe, expect, it } from "vitest";
import type { Entry, RuleMatch } from "./rule.ts";
import { CounterKeys } from "./counter-key.ts";

/** A match of a rule per minute. */
function match(sharedValues?: readonly string[]): RuleMatch<unknown> {
  return {
    rule: {
      path: "domain.key",
      limit: { requestsPerUnit: 1, unit: 2, name: "" },
      windowSeconds: 60,
      unlimited: false,
      shadowMode: false,
      quotaMode: false,
      replaces: [],
    },
    statisticsKey: "domain.key",
    attachment: undefined,
    sharedValues,
    metadata: undefined,
  };
}

/** Entries written as `key=value key=value`. */
function entries(text: string): readonly Entry[] {
  return text.split(" ").map((pair) => ({ key: pair.split("=")[0] ?? "", value: pair.split("=")[1] ?? "" }));
}

describe("CounterKeys", () => {
  it("key() builds each key from its own parts when calls alternate", () => {
    const keys = new CounterKeys("prefix:");
    const [a, b] = [{ domain: "a" }, { domain: "b" }];
    const [first, second, shared] = [match(), match(), match(["v*"])];
    const calls = [
      { rules: a, match: first, text: "key=value", start: 60, expected: "prefix:a_key_value_60" },
      { rules: a, match: first, text: "key=value", start: 120, expected: "prefix:a_key_value_120" },
      { rules: b, match: second, text: "key=value", start: 60, expected: "prefix:b_key_value_60" },
      { rules: a, match: first, text: "yek=value", start: 60, expected: "prefix:a_yek_value_60" },
      { rules: a, match: first, text: "key=vblue", start: 60, expected: "prefix:a_key_vblue_60" },
      { rules: a, match: first, text: "x=y key=value", start: 60, expected: "prefix:a_x_y_key_value_60" },
      { rules: a, match: first, text: "x=z key=value", start: 60, expected: "prefix:a_x_z_key_value_60" },
      { rules: a, match: shared, text: "key=value", start: 60, expected: "prefix:a_key_v*_60" },
      { rules: a, match: first, text: "key=", start: 60, expected: "prefix:a_key__60" },
      {
        rules: a,
        match: first,
        text: `key=${"v".repeat(300)}`,
        start: 60,
        expected: `prefix:a_key_${"v".repeat(300)}_60`,
      },
    ];
    for (let round = 0; round < 3; round++) {
      for (const { rules, match: matched, text, start, expected } of calls) {
        // A key that is asked for twice is kept, and the third may be the second; entries are new in each call.
        for (let time = 0; time < 3; time++) expect(keys.key(rules, matched, entries(text), start)).toBe(expected);
      }
    }
  });

  it("key() builds the keys of many values in any order", () => {
    const [keys, rules, matched] = [new CounterKeys(""), { domain: "d" }, match()];
    for (let step = 0; step < 5000; step++) {
      const value = `user-${(step * 7919) % 600}`;
      expect(keys.key(rules, matched, entries(`key=${value}`), 60)).toBe(`d_key_${value}_60`);
    }
  });
});
