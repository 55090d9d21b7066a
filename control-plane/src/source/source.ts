// The interface of the sources of RateLimitConfig resources: each knows the whole desired state and
// reports when that may have changed.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";

/** The location of a resource or problem. */
export interface SourceLocation {
  /** A path; `ratelimitconfigs/<namespace>/<name>` for an object of a cluster. */
  readonly file: string;
  /** Counts from 1; 0 where there are no lines, as in an object of a cluster. */
  readonly line: number;
  /** Counts from 1; 0 where there are no lines. */
  readonly column: number;
}

/** A valid resource. */
export interface SourceResource {
  readonly namespace: string;
  readonly name: string;
  /** Creation time, milliseconds since the epoch; 0 when none is known. */
  readonly createdMs: number;
  readonly resource: RateLimitConfigResource;
  readonly place: SourceLocation;
  /** True for the last good revision of a resource whose current revision is invalid. */
  readonly isLastGood: boolean;
  /** Differs from that of a later object with the same name; absent outside of a cluster. */
  readonly uid?: string;
  /** The version of the spec as the cluster counts; absent outside of a cluster. */
  readonly generation?: number;
  /**
   * Last good revisions, the newest first: from before this process started, or those that all replicas
   * read; absent when the source keeps none. Served where the current revision cannot be.
   */
  readonly lastGood?: readonly RateLimitConfigResource[];
  /** The location of a field, such as `["spec", "domain"]`, or of the nearest one around it. */
  locate(path: readonly (string | number)[]): SourceLocation;
}

/** A problem because of which there is no resource, or an earlier revision of it. */
export interface SourceRefusal {
  readonly place: SourceLocation;
  /** For example `spec.descriptors[2].rateLimit.unit`; empty for the whole document or file. */
  readonly field: string;
  readonly message: string;
  /** `<namespace>/<name>` when that much could be read. */
  readonly resource: string | undefined;
  /** True when earlier good revisions of the same file or object remain in the state. */
  readonly keepsLastGood: boolean;
  /** Absent: the resource is wrong by itself. */
  readonly reason?: "TooMany";
  /** UID of the object that is wrong; absent outside of a cluster. */
  readonly uid?: string;
  /** The version of its spec; absent outside of a cluster. */
  readonly generation?: number;
}

/** All resources and problems at one moment. */
export interface SourceState {
  readonly resources: readonly SourceResource[];
  readonly refusals: readonly SourceRefusal[];
}

/** How well a source follows the state. */
export interface SourceCondition {
  /** When the state was last known to be right, milliseconds since the epoch; undefined before that. */
  readonly syncedMs: number | undefined;
  /** Why the source cannot follow changes, for people; undefined while it can. */
  readonly problem: string | undefined;
}

/** The requests of a source to its server, since it was made. */
export interface SourceCounts {
  readonly lists: number;
  readonly watches: number;
  /** By kind; all kinds exist from the start. */
  readonly failures: Readonly<Record<string, number>>;
  /** True if the last good revisions that outlive this process can be read. */
  readonly readsLastGood: boolean;
}

/** The last good revisions of a resource. */
export interface LastGoodRevisions {
  readonly namespace: string;
  readonly name: string;
  /** The path of its manifest. */
  readonly file: string;
  /** The newest first; never empty. */
  readonly revisions: readonly RateLimitConfigResource[];
}

/** A source of resources. */
export interface Source extends Part {
  /** The folder or the namespaces, for people. */
  readonly location: string;
  /**
   * Resolves when the source watches and can be read, however long that takes. From then on
   * listeners receive every change.
   */
  start(): Promise<void>;
  stop(): void | Promise<void>;
  /**
   * Calls the listener when the state may have changed: perhaps often, and without a change. It coalesces
   * the calls and then reads.
   */
  onChanged(listener: () => void): void;
  /**
   * The whole state: rejects with SOURCE_UNREADABLE rather than return a part. Returns the same object
   * as long as nothing has changed. Only one call at a time.
   */
  read(): Promise<SourceState>;
  /** Keeps the last good revisions of all resources beyond this process; absent: the source cannot. */
  keepLastGood?(resources: readonly LastGoodRevisions[]): Promise<void>;
  /**
   * Returns true if last good revisions are kept by others, up to date, and the same for all replicas; absent:
   * they are not.
   */
  hasRevisions?(): boolean;
  /** Absent: the source asks no server. */
  counts?(): SourceCounts;
  /** The condition at this moment; may be called at any time, also while start() waits. */
  condition(): SourceCondition;
}

/** `<namespace>/<name>`: the name of a resource in messages and on the wire. */
export function resourceKey(resource: { readonly namespace: string; readonly name: string }): string {
  return `${resource.namespace}/${resource.name}`;
}

/** A location in the shape that editors and terminals understand. */
export function formatLocation({ file, line }: SourceLocation): string {
  return line === 0 ? file : `${file}:${line}`;
}
