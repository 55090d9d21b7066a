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
  /** Was there first, for a fleet that is the default of a resource in another namespace. */
  const parked = member("bank", "parked", "shop.core", 1);
  const rightful = member("shop", "core", "shop.core", 9000);
  const owners = fleetOwners([other, late, sibling, old, parked, rightful]);

  it("fleetOwners() gives a fleet to the oldest service that may have it", () => {
    expect(owners).toEqual(
      new Map([
        ["core", old],
        ["other", other],
        ["shop.core", rightful],
      ]),
    );
  });

  it.each([
    { of: "the owner", member: old, conflict: undefined },
    { of: "a service of the same namespace", member: sibling, conflict: undefined },
    {
      of: "a service of another namespace",
      member: late,
      conflict: 'the fleet "core" belongs to the older RateLimitService shop/b',
    },
    { of: "a service with another fleet", member: other, conflict: undefined },
    { of: "a service of a fleet without an owner", member: member("x", "x", "new", 1), conflict: undefined },
    { of: "the owner of a default fleet", member: rightful, conflict: undefined },
    {
      of: "a service with the default fleet of another namespace",
      member: parked,
      conflict:
        'the fleet "shop.core" belongs to the namespace shop: a RateLimitService in the namespace bank may name bank.* and names without a dot',
    },
  ])("fleetConflictOf() says what keeps $of from its fleet", ({ member: of, conflict }) => {
    expect(fleetConflictOf(of, owners)).toBe(conflict);
  });

  it("fleetOwners() has no owner of a default fleet while its resource is re-created", () => {
    const without = fleetOwners([parked]);
    expect(without.get("shop.core")).toBeUndefined();
    expect(fleetConflictOf(parked, without)).toContain("belongs to the namespace shop");
  });

  it("fleetOwners() gives a fleet to the first by namespace and name when both are of one age", () => {
    expect(fleetOwners([member("shop", "a", "core", 5), member("bank", "z", "core", 5)]).get("core")?.namespace).toBe(
      "bank",
    );
  });
});
