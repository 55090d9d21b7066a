// The rollout report of this replica as plain data: the model behind the rollout API and
// the gauges. report-rollout.ts makes it.
import type { ConnectedPod } from "../../pods/pod-registry.ts";
import type { SyncStatus } from "../../pods/sync-status.ts";
import type { SourceLocation } from "../../source/source.ts";

/** A filter of reports; an absent field filters nothing. */
export interface RolloutFilter {
  /** Only this fleet and its resources; `*`: every fleet that no resource names. */
  readonly fleet?: string | undefined;
  /** Only resources of this namespace. */
  readonly namespace?: string | undefined;
  /** Only resources of this name. */
  readonly name?: string | undefined;
  /** Leaves out fleets in which every pod is current: see {@link ResourceReport.settledDigest}. */
  readonly settledDigests?: boolean;
}

/** Connected pods, and how many of them have each sync status. */
export interface PodCounts {
  readonly pods: number;
  readonly podStates: Readonly<Record<SyncStatus, number>>;
}

/** Why newer content is held back: no resource is left, or some do not fit. */
export type HoldReason = "empty" | "too-large";

/** The snapshot of one fleet. */
export interface FleetReport extends PodCounts {
  /** `*`: every fleet that no resource names. */
  readonly fleet: string;
  /** null: nothing yet. */
  readonly version: string | null;
  readonly resources: number;
  readonly bytes: number;
  readonly publishedAt: string | null;
  /** null: nothing is held back. */
  readonly heldBack: HoldReason | null;
}

/** A problem of a resource. */
export interface ProblemReport extends SourceLocation {
  /** Empty: the whole resource or file. */
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

/** A group of pods that NACKed the current revision of a resource. */
export interface GroupRejection {
  readonly group: number;
  /** The text of the NACK. */
  readonly message: string;
  /** Digest of the revision that these pods are sent instead; null: none is. */
  readonly activeDigest: string | null;
}

/** A resource in one fleet. Groups are numbers as in {@link PodReportEntry}. */
export interface ResourceFleetReport {
  /** `*`: every fleet that no resource names. */
  readonly fleet: string;
  /** Of its revision in the fleet's snapshot. */
  readonly digest: string;
  readonly acceptedGroups: readonly number[];
  readonly pendingGroups: readonly number[];
  readonly rejections: readonly GroupRejection[];
}

/**
 * `served`: active as written. `last-good`: invalid, an earlier revision is served. `refused`: invalid
 * and not served. `quarantined`: a connected pod NACKed it, and serves another revision or none.
 */
export type ResourceStatus = "served" | "last-good" | "refused" | "quarantined";

/** A resource. `pods` are sent it, and are `current` when they have ACKed its current revision. */
export interface ResourceReport extends PodCounts {
  /** `<namespace>/<name>`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty when it cannot be read. */
  readonly domain: string;
  /** null: a source without generations. */
  readonly generation: number | null;
  /** UID of the object that was read last; null: none is known. */
  readonly uid: string | null;
  /** Generation of that object, also when its revision is invalid; null: a source without generations. */
  readonly observedGeneration: number | null;
  readonly fleets: readonly string[] | null;
  readonly state: ResourceStatus;
  /** null: nothing is wrong. */
  readonly reason: string | null;
  readonly problems: readonly ProblemReport[];
  /** True if an earlier revision is served instead. */
  readonly servesLastGood: boolean;
  readonly file: string;
  readonly line: number;
  /** Fields that some pods ignore, and fleets without a pod. */
  readonly warnings: readonly string[];
  /** The fleets that receive it. */
  readonly fleetStates: readonly ResourceFleetReport[];
  /**
   * Digest of its revision in all fleets of the report that it names, or all of them, but those of `fleetStates`: every
   * pod there has ACKed it. null: `fleetStates` has every fleet.
   */
  readonly settledDigest: string | null;
}

/** A resource or file that is not served as written. */
export interface RefusalReport extends ProblemReport {
  /** null: the name could not be read. */
  readonly resource: string | null;
  readonly keepsLastGood: boolean;
}

export interface VersionReport {
  readonly version: string;
  readonly at: string;
}

export interface PodReportEntry extends Omit<ConnectedPod, "nodeId"> {
  readonly node: string;
  readonly connectedAt: string;
  readonly state: SyncStatus;
  readonly sent: VersionReport | null;
  readonly accepted: VersionReport | null;
  readonly rejected: (VersionReport & { readonly message: string }) | null;
  /** A fleet that no resource names. */
  readonly warnings: readonly string[];
  /** Pods with one number are alike in every resource. */
  readonly group: number;
}

/** The whole report. Times are ISO 8601. */
export interface RolloutReport {
  /** Name of the replica; the report covers the pods that are connected to it. */
  readonly replica: string;
  /** Unique per process, also among replicas of the same name. */
  readonly instance: string;
  readonly observedAt: string;
  readonly ready: boolean;
  /** Why it is not ready; null when it is. */
  readonly notReady: string | null;
  readonly source: { readonly location: string; readonly error: string | null; readonly syncedAt: string | null };
  readonly fleets: readonly FleetReport[];
  readonly resources: readonly ResourceReport[];
  readonly refusals: readonly RefusalReport[];
  readonly pods: readonly PodReportEntry[];
}
