// What pods reject, as the publisher and the reports see it. Only the shapes: who concludes what
// from the answers of pods stands later in the order of folders (rollout/quarantine.ts) and is
// handed to the publisher.
import type { SnapshotSet } from "./snapshot.ts";

/** A resource whose content, as it is wanted now, pods of a fleet rejected. */
export interface RejectedResource {
  /** As in a publication: the empty text stands for all fleets that no resource names. */
  readonly fleet: string;
  /** `<namespace>/<name>`. */
  readonly resource: string;
  /** When the first pod rejected this content, milliseconds since the epoch. */
  readonly sinceMs: number;
  /**
   * What the pod that rejected it last said, in its own words; at most some thousand characters.
   */
  readonly message: string;
  /**
   * What the fleet is sent of the resource: its present form, because another pod accepted it and
   * the rejection is only reported; its last accepted form; or nothing. In the last two cases the
   * resource is quarantined.
   */
  readonly serves: "present" | "last-good" | "nothing";
  /**
   * How many of the connected pods have rejected it and not accepted it since; beyond a thousand
   * they are no longer told apart.
   */
  readonly rejectingPods: number;
}

/**
 * A whole version that pods of a fleet rejected without naming a resource that could be left out.
 */
export interface RejectedVersion {
  /** As in a publication. */
  readonly fleet: string;
  readonly version: string;
  /** When the first pod rejected it, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** What the pod that rejected it last said. */
  readonly message: string;
  /**
   * The version that the fleet is sent instead; undefined when there is none that a pod accepted,
   * or when other pods accepted the version.
   */
  readonly restored: string | undefined;
  readonly rejectingPods: number;
}

/** Everything that is rejected at present. */
export interface Rejections {
  /** By fleet, then by name. */
  readonly resources: readonly RejectedResource[];
  readonly versions: readonly RejectedVersion[];
}

/** Nobody rejects anything. */
export const NO_REJECTIONS: Rejections = { resources: [], versions: [] };

/** Stands between what is wanted and what is published. */
export interface Quarantine {
  /**
   * Takes in what is wanted and gives what may be published of it; with nothing rejected these are
   * the same object.
   */
  apply(wanted: SnapshotSet): SnapshotSet;
  /** What is rejected at present. */
  rejections(): Rejections;
  /**
   * Calls the listener when `apply` would give something else, or `rejections` would; returns the
   * function that ends this.
   */
  onChanged(listener: () => void): () => void;
}
