// Tests of subscription.ts. Case numbers are those of the protocol's test list.
import { describe, expect, it } from "vitest";

import { growthOf, nextSubscription, type Subscription, wants } from "./subscription.ts";

/** The subscription after requests with these names, one after the other. */
function after(...requests: readonly (readonly string[])[]): Subscription {
  const [last] = requests.reduce<readonly (Subscription | undefined)[]>(
    ([current], names) => [nextSubscription(current, names)],
    [undefined],
  );
  if (last === undefined) throw new Error("No request");
  return last;
}

function shown({ wildcard, names }: Subscription): readonly unknown[] {
  return [wildcard, [...names]];
}

describe("nextSubscription()", () => {
  it.each([
    { when: "the first request names nothing", requests: [[]], expected: ["legacy", []] },
    { when: "nothing is named again", requests: [[], [], []], expected: ["legacy", []] },
    { when: "a name follows", requests: [[], ["a"]], expected: ["none", ["a"]] },
    { when: "nothing follows a name", requests: [[], ["a"], []], expected: ["none", []] },
  ])("case 13: gives $expected when $when", ({ requests, expected }) => {
    expect(shown(after(...requests))).toEqual(expected);
  });

  it.each([
    { when: "the first request names *", requests: [["*"]], expected: ["explicit", []] },
    { when: "* is repeated", requests: [["*"], ["*"]], expected: ["explicit", []] },
    { when: "a name joins *", requests: [["*"], ["*", "a"]], expected: ["explicit", ["a"]] },
    { when: "another name takes its place", requests: [["*"], ["*", "a"], ["*", "b"]], expected: ["explicit", ["b"]] },
    { when: "* is dropped", requests: [["*"], ["*", "b"], ["b"]], expected: ["none", ["b"]] },
    { when: "everything is dropped", requests: [["*"], ["b"], []], expected: ["none", []] },
    { when: "* comes back", requests: [["*"], ["b"], [], ["*"]], expected: ["explicit", []] },
    { when: "a name is sent twice", requests: [["a", "a"]], expected: ["none", ["a"]] },
  ])("case 14: gives $expected when $when", ({ requests, expected }) => {
    expect(shown(after(...requests))).toEqual(expected);
  });
});

describe("wants()", () => {
  it("takes every name when the wildcard is legacy or explicit, and only its own when it is none", () => {
    expect([
      wants(after([]), "a"),
      wants(after(["*"]), "a"),
      wants(after(["a"]), "a"),
      wants(after(["a"]), "b"),
    ]).toEqual([true, true, true, false]);
  });
});

describe("growthOf()", () => {
  it.each([
    { when: "the first request is a wildcard", before: undefined, now: after([]), expected: "all" },
    { when: "the wildcard is only written out", before: after([]), now: after([], ["*"]), expected: new Set() },
    {
      when: "a name joins a wildcard that covers it",
      before: after(["*"]),
      now: after(["*", "a"]),
      expected: new Set(),
    },
    { when: "only a covered name is left", before: after(["*"]), now: after(["a"]), expected: new Set() },
    { when: "names become a wildcard", before: after(["a"]), now: after(["*"]), expected: "all" },
    { when: "a name joins a name", before: after(["a"]), now: after(["a", "b"]), expected: new Set(["b"]) },
    { when: "a name is dropped", before: after(["a", "b"]), now: after(["a"]), expected: new Set() },
  ])("gives $expected when $when", ({ before, now, expected }) => {
    expect(growthOf(before, now)).toEqual(expected);
  });
});
