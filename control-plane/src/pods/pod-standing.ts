// How a pod stands to a version: the one answer to that question for reports, metrics and whoever
// waits for pods. Pure.
import type { PodState } from "./pod-registry.ts";

/**
 * How a pod stands: `current` has accepted what is in force, `rejected` has rejected it, `pending`
 * has not answered, `waiting` says that nothing is in force.
 */
export type PodStanding = "current" | "rejected" | "pending" | "waiting";

/**
 * How a pod stands to the version that is in force for it; undefined when nothing is. What it said
 * of that version once counts only when it was sent nothing else since that it has not answered: it
 * may have that loaded by now.
 */
export function standingOf(
  pod: Pick<PodState, "isAnswered" | "accepted" | "rejected">,
  version: string | undefined,
): PodStanding {
  if (version === undefined) return "waiting";
  if (!pod.isAnswered) return "pending";
  if (pod.rejected?.version === version) return "rejected";
  return pod.accepted?.version === version ? "current" : "pending";
}
