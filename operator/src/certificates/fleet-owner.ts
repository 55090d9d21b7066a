// The owner of each fleet: of the RateLimitServices that name it, the oldest, then the first by
// namespace and name. Pure.
import { type Age, compareAge } from "@weir/limits/ownership/ownership";

/** A RateLimitService, as far as its fleet matters. */
export interface FleetMember extends Age {
  /** The fleet of its pods, the default included. */
  readonly fleet: string;
}

/** The owner of each fleet. */
export function fleetOwners<Member extends FleetMember>(members: readonly Member[]): ReadonlyMap<string, Member> {
  const owners = new Map<string, Member>();
  for (const member of members.toSorted(compareAge)) owners.getOrInsert(member.fleet, member);
  return owners;
}

/**
 * The owner that a RateLimitService conflicts with; undefined when there is none. Services of the
 * owner's namespace may share its fleet.
 */
export function fleetConflictOf<Member extends FleetMember>(
  member: FleetMember,
  owners: ReadonlyMap<string, Member>,
): Member | undefined {
  const owner = owners.get(member.fleet);
  return owner === undefined || owner.namespace === member.namespace ? undefined : owner;
}
