// Who owns a domain. Pure: the walk over the resources, oldest first, is assemble's.
import type { AcceptedResource } from "./assembly.ts";

/** The owners so far. */
export interface Ownership {
  /**
   * Gives the domain to the resource in every fleet it is for, or names the resource that has it in
   * one of them; then nothing changes hands.
   */
  claim(resource: AcceptedResource): Conflict | undefined;
}

/** Why a claim fails. */
export interface Conflict {
  readonly owner: AcceptedResource;
  /** The fleet in which both meet; undefined when both are for every fleet. */
  readonly fleet: string | undefined;
}

/** Nobody owns anything yet. */
export function createOwnership(): Ownership {
  return new DomainOwnership();
}

/** The claims on one domain. */
interface Claims {
  /** The owner in every fleet, known or not. */
  everywhere: AcceptedResource | undefined;
  readonly byFleet: Map<string, AcceptedResource>;
}

class DomainOwnership implements Ownership {
  readonly #domains = new Map<string, Claims>();

  claim(resource: AcceptedResource): Conflict | undefined {
    const claims = this.#claimsOn(resource.domain);
    const conflict = conflictOf(resource, claims);
    if (conflict !== undefined) return conflict;
    if (resource.fleets === undefined) claims.everywhere = resource;
    else for (const fleet of resource.fleets) claims.byFleet.set(fleet, resource);
    return undefined;
  }

  #claimsOn(domain: string): Claims {
    const known = this.#domains.get(domain);
    if (known !== undefined) return known;
    const claims: Claims = { everywhere: undefined, byFleet: new Map() };
    this.#domains.set(domain, claims);
    return claims;
  }
}

function conflictOf(resource: AcceptedResource, { everywhere, byFleet }: Claims): Conflict | undefined {
  if (everywhere !== undefined) return { owner: everywhere, fleet: resource.fleets?.[0] };
  // A resource for every fleet also loses to one that is for a single fleet.
  for (const [fleet, owner] of byFleet)
    if (resource.fleets === undefined || resource.fleets.includes(fleet)) return { owner, fleet };
  return undefined;
}
