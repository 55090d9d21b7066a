// What this replica knows of the rollout, as plain data: the one model behind the rollout API,
// /status and the gauges. It holds no behaviour; how it comes about is report-rollout.ts's.
import type { SyncStatus } from "../../pods/sync-status.ts";

/** What to tell of; every field narrows, and an absent one means everything. */
export interface RolloutFilter {
  /**
   * Only this fleet and the resources that are for it; `*` stands for every fleet that no resource
   * names.
   */
  readonly fleet?: string | undefined;
  /** Only resources of this namespace. */
  readonly namespace?: string | undefined;
  /** Only resources of this name. */
  readonly name?: string | undefined;
}

/** How many pods stand how. */
export type SyncStatusCounts = Readonly<Record<SyncStatus, number>>;

/** Why newer content is kept back. */
export type HoldReason = "empty" | "too-large" | "rejected";

/** What one fleet is sent. */
export interface FleetReport {
  /** `*` stands for every fleet that no resource names. */
  readonly fleet: string;
  /** null: nothing yet. */
  readonly version: string | null;
  readonly resources: number;
  readonly bytes: number;
  readonly publishedAt: string | null;
  /** null: nothing is kept back. */
  readonly heldBack: HoldReason | null;
  /** How many pods are connected. */
  readonly pods: number;
  readonly podStates: SyncStatusCounts;
}

/** Where something is written; line and column are 0 when the place has none. */
export interface PlaceReport {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong with a resource. */
export interface ProblemReport extends PlaceReport {
  /** Empty: the whole resource. */
  readonly field: string;
  readonly message: string;
}

/**
 * What became of a resource: `served` says that it is in force as it is written, `last-good` that
 * it is refused and an earlier form is served, `quarantined` that pods rejected it, or the version
 * that brought it.
 */
export type ResourceStatus = "served" | "last-good" | "refused" | "quarantined";

/** A resource that this replica knows. */
export interface ResourceReport {
  /** `<namespace>/<name>`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty when it cannot be read. */
  readonly domain: string;
  /** null: a source without generations. */
  readonly generation: number | null;
  /** null: every fleet. */
  readonly fleets: readonly string[] | null;
  readonly state: ResourceStatus;
  /** null: nothing is wrong. */
  readonly reason: string | null;
  readonly problems: readonly ProblemReport[];
  /** Whether an earlier form is served instead. */
  readonly servesLastGood: boolean;
  readonly file: string;
  readonly line: number;
  /** Connected pods that are sent it. */
  readonly pods: number;
  /**
   * How they stand to the version in force; while that does not hold the present form, none is
   * `current`.
   */
  readonly podStates: SyncStatusCounts;
  /** What of it some pods cannot do. */
  readonly warnings: readonly string[];
}

/** Something that is not served as it is written. */
export interface RefusalReport extends PlaceReport {
  readonly reason: string;
  /** null: not even the name could be read. */
  readonly resource: string | null;
  /** Empty: the whole document or file. */
  readonly field: string;
  readonly message: string;
  readonly keepsLastGood: boolean;
}

/** A version and when. */
export interface VersionReport {
  readonly version: string;
  readonly at: string;
}

/** A connected pod. */
export interface PodReportEntry {
  readonly node: string;
  readonly pod: string;
  readonly namespace: string;
  readonly fleet: string;
  readonly peer: string;
  readonly connectedAt: string;
  readonly state: SyncStatus;
  readonly sent: VersionReport | null;
  readonly accepted: VersionReport | null;
  readonly rejected: (VersionReport & { readonly message: string }) | null;
}

/** Everything. Times are ISO 8601. */
export interface RolloutReport {
  /** Name of the replica: what it knows of pods is true of those that are connected to it. */
  readonly replica: string;
  /** Tells this process from every other, of the same name too. */
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
