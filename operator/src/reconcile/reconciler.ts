// The reconciler, which a controller calls for each object that may differ from what is wanted.

/** Names an object of a known kind. */
export interface ObjectKey {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** The work that remains after a reconcile that succeeded. */
export interface ReconcileResult {
  /** When the object is looked at again although nothing has changed, in milliseconds from now. */
  readonly againAfterMs?: number | undefined;
}

/** Brings objects of one kind into the state that is wanted. */
export interface Reconciler {
  /** Label `controller` in metrics, and name in logs: the kind in lower case, such as `ratelimitconfig`. */
  readonly name: string;
  /**
   * Compares what is with what is wanted, from caches, and writes the difference. Called once at a time
   * for each key, also for objects that are gone. An error is logged, and the key is tried again
   * after a wait that grows.
   */
  reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult>;
}
