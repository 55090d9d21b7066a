// The sync status of a pod: one answer for reports, metrics and everything that waits for pods.
import type { PodState } from "./pod-registry.ts";

/**
 * `current`: the pod ACKed the active version. `rejected`: it NACKed that version. `pending`: it
 * has not answered. `waiting`: no version is active.
 */
export type SyncStatus = "current" | "rejected" | "pending" | "waiting";

/**
 * The sync status of a pod for the active version; undefined: none is active. An earlier answer to
 * that version counts only while the pod has answered everything sent since: it may have loaded the
 * later one.
 */
export function syncStatusOf(
  pod: Pick<PodState, "isAnswered" | "accepted" | "rejected">,
  version: string | undefined,
): SyncStatus {
  if (version === undefined) return "waiting";
  if (!pod.isAnswered) return "pending";
  if (pod.rejected?.version === version) return "rejected";
  return pod.accepted?.version === version ? "current" : "pending";
}
