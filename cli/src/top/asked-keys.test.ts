import { describe, expect, it } from "vitest";

import { AskedKeys } from "./asked-keys.ts";

const [ONE, TWO] = [
  { domain: "shop", path: "shop.user" },
  { domain: "shop", path: "shop.plan" },
];

describe("AskedKeys", () => {
  it("replace() asks when a rule is new, at most every ten seconds", () => {
    const asked = new AskedKeys();
    const steps = [
      { atMs: 0, rules: [], asks: false },
      { atMs: 1000, rules: [ONE], asks: true },
      { atMs: 10_999, rules: [ONE, TWO], asks: false },
      { atMs: 11_000, rules: [ONE, TWO], asks: true },
      { atMs: 60_000, rules: [{ ...TWO }, { ...ONE }], asks: false },
      { atMs: 61_000, rules: [TWO], asks: false },
      { atMs: 62_000, rules: [{ ...ONE, domain: "mail" }], asks: true },
    ];
    expect(steps.map(({ atMs, rules }) => asked.replace(rules, atMs))).toEqual(steps.map(({ asks }) => asks));
  });
});
