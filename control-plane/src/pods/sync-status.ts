// The sync status of a pod, and how it deviates from its fleet's snapshot: one answer for reports,
// metrics and everything that waits for pods.
import type { Revision } from "../snapshot/revision.ts";
import { revisionIn } from "./pod-revisions.ts";
import type { PodState } from "./pod-registry.ts";

/**
 * `current`: the pod ACKed its fleet's snapshot. `rejected`: it NACKed that, or a part of it.
 * `pending`: it has not answered. `waiting`: no snapshot is active.
 */
export type SyncStatus = "current" | "rejected" | "pending" | "waiting";

/** The sync status of a pod for the active version of its fleet; undefined: none is active. */
export function syncStatusOf(
  { lastAnswer, accepted, rejected }: Pick<PodState, "lastAnswer" | "accepted" | "rejected">,
  version: string | undefined,
): SyncStatus {
  if (version === undefined) return "waiting";
  if (lastAnswer === undefined) return "pending";
  if (rejected !== undefined) return "rejected";
  return accepted?.version === version ? "current" : "pending";
}

/** The revision of a resource that a pod serves instead of the published one, because of a NACK. */
export interface Deviation {
  /** undefined: nothing. */
  readonly revision: Revision | undefined;
  /** The text of the NACK. */
  readonly message: string;
  /** When the first one came, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/**
 * How a pod deviates from a published revision: it is sent an earlier one, or none, or it NACKed the last response
 * and named no resource, so that it keeps what it had.
 */
export function deviationOf(pod: PodState, published: Revision): Deviation | undefined {
  const { name, digest } = published;
  const { choice, acked, rejected, lastAnswer } = pod;
  if (rejected === undefined) return undefined;
  const { message, sinceMs } = pod.nacks.get(name) ?? { message: rejected.message, sinceMs: rejected.atMs };
  if (choice?.earlierRevisions.has(name) === true)
    return { revision: choice.earlierRevisions.get(name), message, sinceMs };
  const loaded = revisionIn(acked, name);
  return lastAnswer === "nack" && loaded?.digest !== digest ? { revision: loaded, message, sinceMs } : undefined;
}
