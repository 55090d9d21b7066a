import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { FairShares } from "./fair-shares.ts";

/** A member of the narrowest network: 3 wide ones with 3 narrower ones in each. */
const PATH = fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("1", "2", "3"));

const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("add" as const), path: PATH, weight: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant("remove" as const), pick: fc.nat() }),
  ),
  { maxLength: 60 },
);

interface Member {
  readonly path: readonly string[];
  readonly weight: number;
}

function sharesAfter(steps: typeof STEPS extends fc.Arbitrary<infer S> ? S : never): {
  shares: FairShares<Member>;
  members: readonly Member[];
} {
  const shares = new FairShares<Member>();
  const members: Member[] = [];
  for (const step of steps)
    if (step.kind === "add") {
      const member = { path: step.path, weight: step.weight };
      members.push(member);
      shares.add(member.path, member, member.weight);
    } else if (members.length > 0) {
      const [member] = members.splice(step.pick % members.length, 1);
      if (member !== undefined) shares.remove(member.path, member);
    }
  return { shares, members };
}

const weightOf = (members: readonly Member[], ...path: readonly string[]): number =>
  members
    .filter((member) => path.every((network, level) => member.path[level] === network))
    .reduce((sum, { weight }) => sum + weight, 0);

describe("FairShares", () => {
  it("weighs what its members weigh", () => {
    fc.assert(
      fc.property(STEPS, (steps) => {
        const { shares, members } = sharesAfter(steps);
        expect(shares.weight).toBe(weightOf(members));
      }),
    );
  });

  it("toDisplace() names nobody while no network holds more than the member's own would, and else one of it", () => {
    fc.assert(
      fc.property(STEPS, PATH, fc.integer({ min: 1, max: 9 }), (steps, path, weight) => {
        const { shares, members } = sharesAfter(steps);
        const displaced = shares.toDisplace(path, weight);
        const levels = path.map((_, level) => path.slice(0, level));
        const isLarger = levels.map((above, level) =>
          ["a", "b", "c", "1", "2", "3"].some(
            (other) =>
              other !== path[level] &&
              weightOf(members, ...above, other) > weightOf(members, ...above, path[level] ?? "") + weight,
          ),
        );
        expect(displaced !== undefined).toBe(isLarger.includes(true));
        if (displaced === undefined) return;
        const level = isLarger.indexOf(true);
        expect(displaced.path.slice(0, level)).toEqual(path.slice(0, level));
        expect(displaced.path[level]).not.toBe(path[level]);
        const largest = Math.max(
          ...members.filter((member) => String(member.path) === String(displaced.path)).map((member) => member.weight),
        );
        expect(displaced.weight).toBe(largest);
      }),
    );
  });

  it("next() serves everyone once, and each as turnsUntil() said when nobody came after", () => {
    fc.assert(
      fc.property(fc.array(PATH, { minLength: 1, maxLength: 40 }), (paths) => {
        const shares = new FairShares<number>();
        let expected = 0;
        paths.forEach((path, index) => {
          expected = shares.turnsUntil(path);
          shares.add(path, index);
        });
        const served = paths.map(() => shares.next());
        expect(served.toSorted((a, b) => Number(a) - Number(b))).toEqual(paths.map((_, index) => index));
        expect(served.indexOf(paths.length - 1) + 1).toBe(expected);
        expect([shares.next(), shares.weight]).toEqual([undefined, 0]);
      }),
    );
  });
});
