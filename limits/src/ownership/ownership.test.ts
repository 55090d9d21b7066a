// Tests of ownership.ts: the order of claims, and the owner in each fleet.
import { describe, expect, it } from "vitest";

import { compareAge, Ownership } from "./ownership.ts";

interface Resource {
  readonly name: string;
  readonly domain: string;
  readonly fleets: readonly string[] | undefined;
}

/** The claim of a resource on the domain `shop`. */
function claim(name: string, fleets?: readonly string[]): Resource {
  return { name, domain: "shop", fleets };
}

describe("compareAge()", () => {
  it("puts the oldest first, then orders by namespace and name in code units", () => {
    const sorted = [
      { createdMs: 2, namespace: "a", name: "a" },
      { createdMs: 1, namespace: "b", name: "a" },
      { createdMs: 1, namespace: "a-b", name: "a" },
      { createdMs: 1, namespace: "a", name: "b" },
      { createdMs: 1, namespace: "a", name: "B" },
      { createdMs: 0, namespace: "z", name: "z" },
    ].toSorted(compareAge);
    expect(sorted.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual([
      "z/z",
      "a/B",
      "a/b",
      "a-b/a",
      "b/a",
      "a/a",
    ]);
  });
});

describe("Ownership", () => {
  it.each([
    { earlier: [claim("a")], later: claim("b"), conflict: { owner: "a", fleet: undefined } },
    { earlier: [claim("a")], later: claim("b", ["one", "two"]), conflict: { owner: "a", fleet: "one" } },
    { earlier: [claim("a", ["one", "two"])], later: claim("b", ["two"]), conflict: { owner: "a", fleet: "two" } },
    { earlier: [claim("a", ["one"])], later: claim("b"), conflict: { owner: "a", fleet: "one" } },
    { earlier: [claim("a", ["one"])], later: claim("b", ["two"]), conflict: undefined },
    { earlier: [{ ...claim("a"), domain: "other" }], later: claim("b"), conflict: undefined },
    {
      earlier: [claim("a", ["one"]), claim("b", ["one", "two"])], // b lost and owns nothing.
      later: claim("c", ["two"]),
      conflict: undefined,
    },
  ])("claim() gives $later the conflict $conflict after $earlier", ({ earlier, later, conflict }) => {
    const ownership = new Ownership<Resource>();
    for (const resource of earlier) ownership.claim(resource);
    const found = ownership.claim(later);
    expect(found && { owner: found.owner.name, fleet: found.fleet }).toEqual(conflict);
  });
});
