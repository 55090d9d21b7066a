// What a source of resources is: it knows the whole desired state and tells when that may have changed. It neither validates across resources nor
// decides what is served; that is assemble's.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema";

/** Where something is written. */
export interface Place {
  /** A path as a person would open it, or what else names the place. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1. */
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
  /** The place of a field, such as `["spec", "domain"]`, or of the nearest thing around it. */
  locate(path: readonly (string | number)[]): Place;
}

/** Something that did not become a resource. */
export interface SourceRefusal {
  readonly place: Place;
  /** For example `spec.descriptors[2].rateLimit.unit`; empty when the whole document or file is meant. */
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

/** Hears that the state may have changed. Calls may come often and for nothing: the listener coalesces them and then reads. */
export interface SourceListener {
  /** Something may have changed. */
  changed(): void;
}

/** Where resources come from. */
export interface Source extends Part {
  /** What is read, for people: a folder, a cluster. */
  readonly location: string;
  /** Resolves when the source watches; from then on the listener hears of every change. */
  start(): Promise<void>;
  stop(): void | Promise<void>;
  /**
   * The whole state, never a part of it: rejects with SOURCE_UNREADABLE rather than leave something out. Answers the same object as long as nothing
   * has changed. Only one call at a time.
   */
  read(): Promise<SourceState>;
}

/** `<namespace>/<name>`: what a resource is called in messages and on the wire. */
export function resourceKey(resource: { readonly namespace: string; readonly name: string }): string {
  return `${resource.namespace}/${resource.name}`;
}
