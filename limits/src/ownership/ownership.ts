// The owner of a domain in each fleet: of the resources that claim it, the oldest, then the first by
// namespace and name. A resource gets its domain in all of its fleets or owns nothing.

/** The age of a resource, and what decides between equals. */
export interface Age {
  /** Time of creation in milliseconds since the epoch; 0 when unknown, which is the oldest. */
  readonly createdMs: number;
  readonly namespace: string;
  readonly name: string;
}

/** The claim of a resource. */
export interface Claim {
  readonly domain: string;
  /** The fleets it is for; undefined means every fleet, known or not. */
  readonly fleets: readonly string[] | undefined;
}

/** Why a claim fails. */
export interface Conflict<Resource> {
  readonly owner: Resource;
  /** The fleet in which both meet; undefined when both are for every fleet. */
  readonly fleet: string | undefined;
}

/** The claims on one domain. */
interface Claims<Resource> {
  /** The owner in every fleet, known or not. */
  everywhere: Resource | undefined;
  readonly byFleet: Map<string, Resource>;
}

/** Order in which resources claim their domains: the oldest first, then by namespace and name. */
export function compareAge(left: Age, right: Age): number {
  return (
    left.createdMs - right.createdMs ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name)
  );
}

/** The owners so far. */
export class Ownership<Resource extends Claim> {
  readonly #domains = new Map<string, Claims<Resource>>();

  /**
   * Gives the domain to the resource in every fleet it is for. When another resource owns it in one
   * of them, returns that conflict and changes nothing. Call it in the order of `compareAge`.
   */
  claim(resource: Resource): Conflict<Resource> | undefined {
    const { domain, fleets } = resource;
    const claims = this.#domains.getOrInsertComputed(domain, () => ({ everywhere: undefined, byFleet: new Map() }));
    const conflict = conflictOf(resource, claims);
    if (conflict !== undefined) return conflict;
    if (fleets === undefined) claims.everywhere = resource;
    else for (const fleet of fleets) claims.byFleet.set(fleet, resource);
    return undefined;
  }
}

function conflictOf<Resource extends Claim>(
  { fleets }: Resource,
  { everywhere, byFleet }: Claims<Resource>,
): Conflict<Resource> | undefined {
  if (everywhere !== undefined) return { owner: everywhere, fleet: fleets?.[0] };
  // A resource for every fleet also loses to one that is for a single fleet.
  for (const [fleet, owner] of byFleet) if (fleets === undefined || fleets.includes(fleet)) return { owner, fleet };
  return undefined;
}

/** Order of texts by code units, the same in every language of a machine. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
