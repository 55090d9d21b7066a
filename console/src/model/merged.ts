// The data that all replicas have sent, as one. Pure.
import { mergeCounts, type MergedFleetCounts } from "@weir/proto/observe/merged-counts";
import { mergeRollouts } from "@weir/proto/rollout/merge-rollouts";
import type { MergedRollout } from "@weir/proto/rollout/merged-rollout";

import type { Answer } from "../stream/question.ts";
import type { ReplicaState, ReplicasState } from "../stream/replica-state.ts";

/** Everything that a view shows. */
export interface Merged {
  readonly fleets: readonly MergedFleetCounts[];
  readonly rollout: MergedRollout;
  /** The answer to what the view asks. */
  readonly answer?: Answer | undefined;
  /** Problems with the data itself: one text each. */
  readonly notices: readonly string[];
  /** True if a replica has sent anything. */
  readonly hasBegun: boolean;
}

/** The replicas together. Those that are silent do not count: their pods connect to others. */
export function merge({ replicas, answer, error }: ReplicasState): Merged {
  const live = replicas.filter((replica) => replica.error === undefined);
  const shown = live.some(hasSent) ? live : replicas;
  return {
    fleets: mergeCounts(shown.flatMap(({ counts }) => counts ?? [])),
    rollout: mergeRollouts(
      shown.flatMap(({ name, rollout }) => (rollout === undefined ? [] : [{ server: name, rollout }])),
    ),
    answer,
    notices: [
      ...(error === undefined ? [] : [error]),
      ...replicas.flatMap(({ name, error: reason }) =>
        reason === undefined ? [] : [`No news from ${name}: ${reason}. Connecting again.`],
      ),
      ...(error === undefined && replicas.length > 0 && !replicas.some(hasSent)
        ? ["Waiting for the first answer."]
        : []),
    ],
    hasBegun: replicas.some(hasSent),
  };
}

function hasSent({ counts, rollout }: ReplicaState): boolean {
  return counts !== undefined || rollout !== undefined;
}
