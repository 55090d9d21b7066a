// What a source of resources is: it knows the whole desired state and tells when that may have
// changed. It neither validates across resources nor decides what is served; that is assemble's.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";

/** Where something is written. */
export interface Place {
  /**
   * A path as a person would open it; `ratelimitconfigs/<namespace>/<name>` for an object of a
   * cluster.
   */
  readonly file: string;
  /** Counts from 1; 0 where there are no lines, as in an object of a cluster. */
  readonly line: number;
  /** Counts from 1; 0 where there are no lines. */
  readonly column: number;
}

/** A resource that the schema accepts. */
export interface SourceResource {
  readonly namespace: string;
  readonly name: string;
  /** Creation time, milliseconds since the epoch; 0 when none is known. */
  readonly createdMs: number;
  readonly resource: RateLimitConfigResource;
  readonly place: Place;
  /** True for the last good form of a resource whose present form is refused. */
  readonly isLastGood: boolean;
  /**
   * Tells an object of a cluster from a later one with the same name; absent where there is nothing
   * of the kind.
   */
  readonly uid?: string;
  /** Which version of what is wanted this is, as the cluster counts; absent where nobody counts. */
  readonly generation?: number;
  /** The place of a field, such as `["spec", "domain"]`, or of the nearest thing around it. */
  locate(path: readonly (string | number)[]): Place;
}

/** Something that did not become a resource. */
export interface SourceRefusal {
  readonly place: Place;
  /**
   * For example `spec.descriptors[2].rateLimit.unit`; empty when the whole document or file is
   * meant.
   */
  readonly field: string;
  readonly message: string;
  /** `<namespace>/<name>` when that much could be read. */
  readonly resource: string | undefined;
  /** True when earlier good forms from the same place stay in the state. */
  readonly keepsLastGood: boolean;
}

/** Everything the source knows at one moment. */
export interface SourceState {
  readonly resources: readonly SourceResource[];
  readonly refusals: readonly SourceRefusal[];
}

/** How well a source knows the state. */
export interface SourceCondition {
  /**
   * When the state was last known to be complete and true, milliseconds since the epoch; undefined
   * before the first time.
   */
  readonly syncedMs: number | undefined;
  /** What keeps the source from following changes, for people; undefined while nothing does. */
  readonly problem: string | undefined;
}

/**
 * Hears that the state may have changed. Calls may come often and for nothing: the listener
 * coalesces them and then reads.
 */
export interface SourceListener {
  /** Something may have changed. */
  changed(): void;
}

/** Where resources come from. */
export interface Source extends Part {
  /** What is read, for people: a folder, a cluster. */
  readonly location: string;
  /**
   * Resolves when the source watches and can be read; until then it may wait for as long as it
   * takes. From then on the listener hears of every change.
   */
  start(): Promise<void>;
  stop(): void | Promise<void>;
  /**
   * The whole state, never a part of it: rejects with SOURCE_UNREADABLE rather than leave something
   * out. Answers the same object as long as nothing has changed. Only one call at a time.
   */
  read(): Promise<SourceState>;
  /**
   * How well the state is known at this moment; may be asked at any time, also while start() waits.
   */
  condition(): SourceCondition;
}

/** `<namespace>/<name>`: what a resource is called in messages and on the wire. */
export function resourceKey(resource: { readonly namespace: string; readonly name: string }): string {
  return `${resource.namespace}/${resource.name}`;
}

/** A place in one word, as editors and terminals understand it. */
export function formatPlace({ file, line }: Place): string {
  return line === 0 ? file : `${file}:${line}`;
}
