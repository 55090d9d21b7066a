// Tests of fleet-names.ts: the bound of all names, and that of one namespace.
import { describe, expect, it } from "vitest";

import { FleetNames } from "./fleet-names.ts";

/** The fleets `f<from>` and so many after it. */
function fleets(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `f${from + index}`);
}

/** The names after four namespaces have named 64 fleets each, but the last only 63. */
function almostFull(): FleetNames {
  const names = new FleetNames();
  for (const [index, namespace] of ["a", "b", "c", "d"].entries())
    names.add({ namespace, fleets: fleets(index * 64, index === 3 ? 63 : 64) });
  return names;
}

describe("FleetNames", () => {
  it.each([
    { namespace: "e", named: fleets(255, 1), problem: undefined },
    { namespace: "e", named: fleets(0, 64), problem: undefined },
    { namespace: "e", named: undefined, problem: undefined },
    { namespace: "d", named: fleets(192, 64), problem: undefined },
    {
      namespace: "e",
      named: fleets(254, 3),
      problem: "brings the named fleets from 255 to 257, all resources together may name at most 256",
    },
    {
      namespace: "a",
      named: fleets(255, 1),
      problem:
        "brings the fleets that namespace a names from 64 to 65, one namespace may name at most 64 that no older resource of another namespace names",
    },
  ])("problemOf() gives $problem for $named.0 and more of $namespace", ({ namespace, named, problem }) => {
    expect(almostFull().problemOf({ namespace, fleets: named })).toBe(problem);
  });

  it("problemOf() counts a fleet for the namespace that named it first, and once", () => {
    const names = new FleetNames();
    names.add({ namespace: "a", fleets: fleets(0, 64) });
    names.add({ namespace: "b", fleets: fleets(0, 64) });
    expect(names.problemOf({ namespace: "b", fleets: fleets(64, 64) })).toBeUndefined();
    expect(names.problemOf({ namespace: "a", fleets: fleets(64, 1) })).toContain("from 64 to 65");
  });
});
