// The reports of all control plane replicas, as plain data: each pod counts once, and each resource has
// what every replica knows of it.

/** A pod that NACKed the current revision of a resource. */
export interface PodRejection {
  /** Namespace and name of the pod, or its node id. */
  readonly pod: string;
  /** The text of the NACK. */
  readonly message: string;
}

/** A resource in one fleet, for the pods of one replica. */
export interface FleetPods {
  /** `*`: every fleet that no resource names. */
  readonly name: string;
  /** Hash of the revision that is active there. */
  readonly digest: string;
  readonly accepted: number;
  readonly pending: number;
  readonly rejected: readonly PodRejection[];
}

/** A resource as one replica knows it. */
export interface KnownResource {
  /** UID of the object that it read last; empty when only the name is known. */
  readonly uid: string;
  /** Generation of that object. */
  readonly generation: number;
  /** Why the current revision is not served; empty when it is. */
  readonly reason: string;
  readonly problems: readonly { readonly field: string; readonly message: string }[];
  readonly servesLastGood: boolean;
  readonly fleets: readonly FleetPods[];
}

/** One replica that answers. */
export interface ReplicaResource {
  readonly name: string;
  /** undefined: it knows no resource of this name. */
  readonly known: KnownResource | undefined;
}

/**
 * The pods of the Services behind a fleet. Only streams of ready ones count, and those of clients that are no
 * pod at all are unknown.
 */
export interface ReadyPods {
  /** Of each pod that does not end, by `<namespace>/<name>`. */
  readonly addresses: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names of those that are ready. */
  readonly ready: ReadonlySet<string>;
  /** Names of ready ones that must be connected: all but pods of another control plane. */
  readonly awaited: ReadonlySet<string>;
}

/** The differences in a fleet between its ready pods and the streams that claim to be of it. */
export interface FleetGaps {
  /** As in {@link FleetPods}. */
  readonly name: string;
  /** Number of ready pods without a stream. */
  readonly missing: number;
  /** Number of streams that are of no pod. */
  readonly unknown: number;
}

/** The reports on one resource. */
export interface ResourceReports {
  /** Replicas that should answer and do not. */
  readonly silent: readonly string[];
  /** Replicas that have just been found, and will answer or be silent within seconds. */
  readonly awaited: readonly string[];
  /** The replicas that answer. */
  readonly replicas: readonly ReplicaResource[];
  /** Of the fleets of the resource; without those that have none. */
  readonly gaps: readonly FleetGaps[];
}

/** The reports on all resources. */
export interface MergedReports {
  /** Returns the reports on the resource `<namespace>/<name>`, also when no replica knows it. */
  of(key: string): ResourceReports;
  /**
   * The fleet of each connected pod, ready or not, by `<namespace>/<name>`, as far as replicas answer;
   * undefined while none does.
   */
  readonly pods: ReadonlyMap<string, string> | undefined;
  /** True if all replicas answer that should: only then is a pod that is not in `pods` not connected. */
  readonly isComplete: boolean;
}

/** A control plane replica as the operator sees it. */
export interface ReplicaSight {
  /** As it reports itself; before it has, its pod or address. */
  readonly name: string;
  /** `awaited`: there is no report yet. `silent`: no answer came for too long. */
  readonly state: "answers" | "awaited" | "silent";
}
