// Bounds the names of fleets: of all resources together, and of those that one namespace brings.

/**
 * Most fleets that all resources together may name: each has a snapshot and a version of its own,
 * as large as everything that is for all fleets.
 */
const FLEETS_MAX = 256;

/** Most of these that the resources of one namespace may be the first to name. */
const NAMESPACE_FLEETS_MAX = 64;

/** The part of a resource that counts here. */
export interface FleetNamer {
  readonly namespace: string;
  /** The fleets it is for; undefined means every fleet, and names none. */
  readonly fleets: readonly string[] | undefined;
}

/** The fleets that are named so far. */
export class FleetNames {
  /** The namespace that named each first. */
  readonly #namespaces = new Map<string, string>();

  /**
   * The reason why a resource cannot name its fleets; undefined when it can. Call it in the order
   * of `compareAge`.
   */
  problemOf(resource: FleetNamer): string | undefined {
    const further = this.#further(resource).length;
    if (further === 0) return undefined;
    const before = this.#namespaces.size;
    if (before + further > FLEETS_MAX)
      return `brings the named fleets from ${before} to ${before + further}, all resources together may name at most ${FLEETS_MAX}`;
    const { namespace } = resource;
    const own = this.#namespaces.values().reduce((count, first) => count + (first === namespace ? 1 : 0), 0);
    return own + further > NAMESPACE_FLEETS_MAX
      ? `brings the fleets that namespace ${namespace} names from ${own} to ${own + further}, one namespace may name at most ${NAMESPACE_FLEETS_MAX} that no older resource of another namespace names`
      : undefined;
  }

  /** Counts the fleets of a resource that is accepted. */
  add(resource: FleetNamer): void {
    for (const fleet of this.#further(resource)) this.#namespaces.set(fleet, resource.namespace);
  }

  /** Those of its fleets that no resource has named yet. */
  #further({ fleets = [] }: FleetNamer): readonly string[] {
    return fleets.filter((fleet) => !this.#namespaces.has(fleet));
  }
}
