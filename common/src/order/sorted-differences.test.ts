// Tests of sorted-differences.ts.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { lowerBound, sortedDifferences } from "./sorted-differences.ts";

interface Element {
  readonly name: string;
  readonly content: number;
}

const ORDER = {
  nameOf: ({ name }: Element): string => name,
  isSame: (left: Element, right: Element): boolean => left.name === right.name && left.content === right.content,
};

const LETTERS = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** A sorted list of few names, so that two lists share most of them. */
const SORTED = fc
  .uniqueArray(fc.record({ name: fc.constantFrom(...LETTERS), content: fc.nat({ max: 1 }) }), {
    selector: ({ name }) => name,
  })
  .map((list) => list.toSorted((left, right) => (left.name < right.name ? -1 : 1)));

describe("sortedDifferences()", () => {
  it("gives what each list has of every name that differs, in the order of names", () => {
    fc.assert(
      fc.property(SORTED, SORTED, (before, after) => {
        const find = (list: readonly Element[], name: string) => list.find((element) => element.name === name);
        const expected = LETTERS.map((name) => ({ name, before: find(before, name), after: find(after, name) })).filter(
          (each) => each.before?.content !== each.after?.content,
        );
        expect([...sortedDifferences(before, after, ORDER)]).toEqual(expected);
      }),
      { seed: 1, numRuns: 1000 },
    );
  });

  it("takes other objects for other elements unless it is given what is equal", () => {
    const [same, one, two] = ["a", "b", "b"].map((name) => ({ name })) as [Name, Name, Name];
    const nameOf = ({ name }: Name): string => name;
    expect([...sortedDifferences([same, one], [same, two], { nameOf })]).toEqual([
      { name: "b", before: one, after: two },
    ]);
  });
});

interface Name {
  readonly name: string;
}

describe("lowerBound()", () => {
  const NAMES = ["b", "d", "d/e", "f"];

  it.each([
    { name: "a", index: 0 },
    { name: "b", index: 0 },
    { name: "c", index: 1 },
    { name: "d/e", index: 2 },
    { name: "g", index: 4 },
  ])("finds $index for $name", ({ name, index }) => {
    expect(lowerBound(NAMES, name, String)).toBe(index);
  });

  it("begins where it should", () => {
    expect(lowerBound(NAMES, "a", String, 2)).toBe(2);
  });
});
