// Tests of configured-domain.ts: the domain of a request among several fleets and files.
import { describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import { findDomain } from "./configured-domain.ts";

describe("findDomain()", () => {
  const manifest = (name: string, fleets: string): string =>
    `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: ${name}}\nspec: {domain: shop, fleets: [${fleets}], descriptors: [{key: ${name}}]}\n---\n`;
  const files = checkFiles([{ path: "m.yaml", text: manifest("one", "edge") + manifest("two", "core") }], {
    mergeDomains: false,
    skipOtherKinds: false,
  });

  it("wants to know the fleet when fleets have different rules", () => {
    expect(findDomain(files, { domain: "shop", fleet: undefined })).toBe(
      'the domain "shop" has other rules in other fleets, choose one with --fleet: default/one (edge); default/two (core)',
    );
    expect(findDomain(files, { domain: "shop", fleet: "core" })).toMatchObject({ rules: [{ key: "two" }] });
  });

  it.each([
    { wanted: { domain: "api", fleet: undefined }, message: 'no rules for the domain "api": there is "shop"' },
    {
      wanted: { domain: "shop", fleet: "other" },
      message: 'no rules for the domain "shop" in the fleet "other": there is none',
    },
  ])("says what there is for $wanted", ({ wanted, message }) => {
    expect(findDomain(files, wanted)).toBe(message);
  });
});
