// The fleets that RateLimitServices get, and whom they conflict with.
import { describe, expect, it } from "vitest";

import { fleetConflictOf, type FleetMember, fleetOwners } from "./fleet-owner.ts";

function member(namespace: string, name: string, fleet: string, createdMs: number): FleetMember {
  return { namespace, name, fleet, createdMs };
}

describe("fleetOwners()", () => {
  const old = member("shop", "b", "core", 1000);
  const sibling = member("shop", "a", "core", 2000);
  const late = member("bank", "a", "core", 2000);
  const other = member("bank", "b", "other", 3000);
  const owners = fleetOwners([other, late, sibling, old]);

  it("fleetOwners() gives a fleet to the oldest service that names it", () => {
    expect(owners).toEqual(
      new Map([
        ["core", old],
        ["other", other],
      ]),
    );
  });

  it.each([
    { of: "the owner", member: old, conflict: undefined },
    { of: "a service of the same namespace", member: sibling, conflict: undefined },
    { of: "a service of another namespace", member: late, conflict: old },
    { of: "a service with another fleet", member: other, conflict: undefined },
    { of: "a service of a fleet without an owner", member: member("x", "x", "new", 1), conflict: undefined },
  ])("fleetConflictOf() names the owner that $of conflicts with", ({ member: of, conflict }) => {
    expect(fleetConflictOf(of, owners)).toBe(conflict);
  });

  it("fleetOwners() gives a fleet to the first by namespace and name when both are of one age", () => {
    expect(fleetOwners([member("shop", "a", "core", 5), member("bank", "z", "core", 5)]).get("core")?.namespace).toBe(
      "bank",
    );
  });
});
