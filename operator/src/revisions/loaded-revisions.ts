// The interface of what is known about loaded revisions: the merged reports of all control plane replicas.

/** An object for good: a later one of the same name has another UID. */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The revisions that pods have loaded. */
export interface LoadedRevisions {
  /**
   * The generation of a RateLimitConfig that every connected pod which is sent it, at least one, has
   * ACKed. Undefined when there is none, and when that is not known: a replica is silent, the revision is
   * invalid, does not own its domain, or is served in an earlier revision.
   */
  loadedGeneration(config: ObjectIdentity): number | undefined;
}
