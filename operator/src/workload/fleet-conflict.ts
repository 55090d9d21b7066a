// The RateLimitService that a fleet conflicts with.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

import { fleetConflictOf, type FleetMember, fleetOwners } from "../certificates/fleet-owner.ts";
import { readService } from "../certificates/read-service.ts";

/** The owner of the fleet of a RateLimitService when it is in another namespace. */
export function fleetConflict(
  object: KubernetesObject,
  services: readonly KubernetesObject[],
): FleetMember | undefined {
  const member = readService(object);
  const rivals = services.map((service) => readService(service)).filter(({ fleet }) => fleet === member.fleet);
  return fleetConflictOf(member, fleetOwners(rivals));
}
