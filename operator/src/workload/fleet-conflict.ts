// Finds the conflict that keeps a RateLimitService from its fleet.
import { fleetConflictOf, fleetOwners } from "@weir/crds/rate-limit-service/fleet-owner";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

import { readService } from "../certificates/read-service.ts";

/** Why a RateLimitService may not have its fleet, for people; undefined: it may. */
export function fleetConflict(object: KubernetesObject, services: readonly KubernetesObject[]): string | undefined {
  const member = readService(object);
  const rivals = services.map((service) => readService(service)).filter(({ fleet }) => fleet === member.fleet);
  return fleetConflictOf(member, fleetOwners(rivals));
}
