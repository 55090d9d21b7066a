// The known state of replicas, as the views take it.
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import type { ReplicaCounts } from "@weir/proto/observe/merged-counts";

import type { Answer } from "./question.ts";

/** A replica. */
export interface ReplicaState {
  /** Its name, or its base path until it has sent that. */
  readonly name: string;
  readonly counts: ReplicaCounts | undefined;
  readonly rollout: Rollout | undefined;
  /** Why there is nothing newer; undefined: there is. */
  readonly error: string | undefined;
}

/** All replicas. */
export interface ReplicasState {
  readonly replicas: readonly ReplicaState[];
  /** The answer to what the view asks; undefined: there is none yet. */
  readonly answer?: Answer | undefined;
  /** Why the replicas are not known; undefined: they are. */
  readonly error: string | undefined;
}
