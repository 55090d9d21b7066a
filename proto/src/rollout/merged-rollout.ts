// The merged rollout report of several replicas, as plain data.
import type { Hold, Pod, PodCounts, Resource, Rollout, Unreadable } from "../generated/weir/rollout/v1/rollout_pb.ts";

/** The answer of one server. */
export interface ReplicaAnswer {
  readonly server: string;
  readonly rollout?: Rollout;
  /** Why there is no answer, or no newer one. */
  readonly error?: string;
}

/** A pod and the replica that it is connected to. */
export interface ReplicaPod {
  readonly pod: Pod;
  readonly replica: string;
}

/** Numbers of pods. */
export type Counts = Pick<PodCounts, "total" | "accepted" | "rejected" | "pending">;

/** A fleet on all replicas. */
export interface MergedFleet {
  readonly name: string;
  /** More than one while replicas differ. */
  readonly versions: readonly string[];
  readonly resources: number;
  readonly holds: readonly Hold[];
  readonly pods: Counts;
}

/** A resource on all replicas. */
export interface MergedResource {
  /** From the replica that is furthest from serving it. */
  readonly resource: Resource;
  readonly pods: Counts;
}

/** The merged report. */
export interface MergedRollout {
  readonly replicas: readonly ReplicaAnswer[];
  readonly fleets: readonly MergedFleet[];
  readonly pods: readonly ReplicaPod[];
  readonly resources: readonly MergedResource[];
  readonly unreadable: readonly Unreadable[];
  /** One text per problem; empty when every resource is served and ACKed. */
  readonly problems: readonly string[];
}

/** A resource that must exist. An empty name: any of the namespace; without that too: none. */
export interface WantedResource {
  readonly namespace: string;
  readonly name: string;
  /** The generation that replicas must know at least. */
  readonly generation: number;
  /** The fleet to which the replicas' answers are narrowed; empty: all. */
  readonly fleet?: string;
  /** True if a pod of each of its fleets must be connected. */
  readonly needsPods?: boolean;
}
