// The owner of each fleet. A name with a dot belongs to the namespace before the dot; of the others the
// oldest RateLimitService that names it is the owner, then the first by namespace and name. Pure.
import { type Age, compareAge } from "@weir/limits/ownership/ownership";

import { mayHaveFleet } from "./fleet.ts";

/** A RateLimitService, as far as its fleet matters. */
export interface FleetMember extends Age {
  /** The fleet of its pods, the default included. */
  readonly fleet: string;
}

/** The owner of each fleet: one of the services that may have it. */
export function fleetOwners<Member extends FleetMember>(members: readonly Member[]): ReadonlyMap<string, Member> {
  const owners = new Map<string, Member>();
  for (const member of members.toSorted(compareAge))
    if (mayHaveFleet(member.namespace, member.fleet)) owners.getOrInsert(member.fleet, member);
  return owners;
}

/**
 * Why a RateLimitService gets neither pods nor a certificate for its fleet, for people; undefined: it gets
 * both. Services of the owner's namespace may share its fleet.
 */
export function fleetConflictOf(member: FleetMember, owners: ReadonlyMap<string, FleetMember>): string | undefined {
  const { namespace, fleet } = member;
  const owner = owners.get(fleet);
  if (owner === undefined || owner.namespace === namespace) return reservedFleetOf(member);
  return (
    reservedFleetOf(member) ??
    `the fleet ${JSON.stringify(fleet)} belongs to the older RateLimitService ${owner.namespace}/${owner.name}`
  );
}

/** Why no RateLimitService of the namespace may have the fleet, for people; undefined: it may. */
export function reservedFleetOf({ namespace, fleet }: Pick<FleetMember, "namespace" | "fleet">): string | undefined {
  if (mayHaveFleet(namespace, fleet)) return undefined;
  const [owner = ""] = fleet.split(".");
  return `the fleet ${JSON.stringify(fleet)} belongs to the namespace ${owner}: a RateLimitService in the namespace ${namespace} may name ${namespace}.* and names without a dot`;
}
