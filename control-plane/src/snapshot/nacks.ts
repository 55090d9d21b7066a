// The NACKs of pods as the publisher and the reports see them. The NACK policy, which makes them,
// is in pods/nack-policy.ts, later in the order of folders; the publisher gets it as a NackFilter.
import type { SnapshotSet } from "./snapshot.ts";

/** A resource whose wanted content pods of a fleet NACKed. */
export interface NackedResource {
  /** As in a publication: the empty text means all fleets that no resource names. */
  readonly fleet: string;
  /** `<namespace>/<name>`. */
  readonly resource: string;
  /** When the first pod NACKed this content, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The text of the last NACK; at most some thousand characters. */
  readonly message: string;
  /**
   * What the fleet is sent of the resource: its present form, because another pod ACKed it and the
   * NACK is only reported; its last ACKed form; or nothing. The last two are a quarantine.
   */
  readonly serves: "present" | "last-good" | "nothing";
  /** Connected pods that NACKed it and have not ACKed it since; beyond a thousand an estimate. */
  readonly nackingPods: number;
}

/** A whole version that pods of a fleet NACKed without naming a resource that could be left out. */
export interface NackedVersion {
  /** As in a publication. */
  readonly fleet: string;
  readonly version: string;
  /** When the first pod NACKed it, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The text of the last NACK. */
  readonly message: string;
  /** The version that is sent instead; undefined: none was ACKed, or other pods ACKed this one. */
  readonly restored: string | undefined;
  readonly nackingPods: number;
}

/** All NACKs that count at present. */
export interface Nacks {
  /** By fleet, then by name. */
  readonly resources: readonly NackedResource[];
  readonly versions: readonly NackedVersion[];
}

/** No NACK. */
export const NO_NACKS: Nacks = { resources: [], versions: [] };

/** Decides what may be published of what is wanted. */
export interface NackFilter {
  /** Returns what may be published of what is wanted; without NACKs the same object. */
  apply(wanted: SnapshotSet): SnapshotSet;
  /** The NACKs that count at present. */
  nacks(): Nacks;
  /** Calls the listener when either may have changed; returns the function that ends this. */
  onChanged(listener: () => void): () => void;
}
