// RateLimitServices as far as their fleets matter: who owns one, and who must be looked at again when
// one changes.
import { fleetOf } from "@weir/crds/rate-limit-service/fleet";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, textOf } from "@weir/kubernetes/mapping";

import { fleetConflictOf, type FleetMember, fleetOwners } from "../certificates/fleet-owner.ts";

/** The member that a RateLimitService is, whatever else it says. */
export function fleetMemberOf({ name, namespace, content }: KubernetesObject): FleetMember {
  const created = Date.parse(textOf(fieldsOf(content["metadata"])["creationTimestamp"]) ?? "");
  const fleet = textOf(fieldsOf(content["spec"])["fleet"]);
  return {
    name,
    namespace,
    createdMs: Number.isNaN(created) ? 0 : created,
    fleet: fleetOf({ metadata: { name, namespace }, spec: { fleet } }),
  };
}

/** The owner of the fleet of a RateLimitService when it is in another namespace. */
export function fleetConflict(
  object: KubernetesObject,
  services: readonly KubernetesObject[],
): FleetMember | undefined {
  const member = fleetMemberOf(object);
  const rivals = services.map((service) => fleetMemberOf(service)).filter(({ fleet }) => fleet === member.fleet);
  return fleetConflictOf(member, fleetOwners(rivals));
}
