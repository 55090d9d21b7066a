// What a fleet is sent, immutable: its resources in one order, their bytes, and a version that is a
// hash of them. Equal content has equal bytes and the same version on every replica, today and
// after a restart.
import { createHash } from "node:crypto";

import type { AcceptedResource, DesiredConfiguration } from "../assemble/desired-configuration.ts";
import { encodeBody, encodeResource } from "./response-bytes.ts";

/**
 * Characters of a version, hexadecimal: 128 bits, so that nobody finds two contents with the same
 * version.
 */
const VERSION_LENGTH = 32;

/** One resource of a snapshot. */
export interface SnapshotResource {
  /** `<namespace>/<name>`. */
  readonly name: string;
  /** The resource as a field of a response. Must not be changed. */
  readonly bytes: Buffer;
  /** Hash of the bytes. */
  readonly digest: string;
  readonly domain: string;
}

/**
 * Everything for the pods of a fleet. There may be hundreds of fleets: what takes time or memory is
 * made when it is asked for first.
 */
export interface Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly resources: readonly SnapshotResource[];
  /** Digest of each resource by name. */
  readonly digests: ReadonlyMap<string, string>;
  /**
   * All resources with version and type, as they are sent; shared by every stream. Must not be
   * changed.
   */
  readonly body: Buffer;
  /** Length of the body. */
  readonly sizeBytes: number;
}

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
  /**
   * Why a snapshot is not what is wanted but the one before it, by fleet; all others have the empty
   * text.
   */
  readonly restored?: ReadonlyMap<string, Restoration>;
}

/** Pods rejected what is wanted without naming a resource that could be left out. */
export interface Restoration {
  /** The version that they rejected. */
  readonly version: string;
  /** Since when, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly message: string;
}

/**
 * Builds the snapshots of a desired configuration. Each resource is serialised once, however many fleets it is
 * for and however often others change; a fleet for which nothing is new since `before` keeps its
 * snapshot.
 */
export function buildSnapshots(desired: DesiredConfiguration, before?: SnapshotSet): SnapshotSet {
  const steps = snapshotSteps(desired, before);
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/**
 * The same in short steps, between which others may have their turn: hundreds of fleets with
 * thousands of resources each take a while.
 */
export function* snapshotSteps(desired: DesiredConfiguration, before?: SnapshotSet): Generator<undefined, SnapshotSet> {
  const forAll: SnapshotResource[] = [];
  const wanted = new Map<string, SnapshotResource[]>(desired.fleets.map((fleet) => [fleet, []]));
  for (const resource of desired.accepted) {
    const built = buildResource(resource);
    if (resource.fleets === undefined) {
      forAll.push(built);
      for (const list of wanted.values()) list.push(built);
    } else for (const fleet of resource.fleets) wanted.get(fleet)?.push(built);
    yield;
  }
  const build = (known: Snapshot | undefined, list: readonly SnapshotResource[]): Snapshot =>
    known !== undefined && areSame(known.resources, list) ? known : buildSnapshot(list);
  const byFleet = new Map<string, Snapshot>();
  for (const [fleet, list] of wanted) {
    byFleet.set(fleet, build(before?.byFleet.get(fleet), list));
    yield;
  }
  return { byFleet, others: build(before?.others, forAll) };
}

/** The resources with these names, as a snapshot would send them: same version, fewer resources. */
export function encodeSubset(snapshot: Snapshot, isWanted: (name: string) => boolean): Buffer {
  const bytes = snapshot.resources.filter(({ name }) => isWanted(name)).map((resource) => resource.bytes);
  return encodeBody(snapshot.version, bytes);
}

/**
 * What was built of a message, which is the same object as long as its manifest does not change: an
 * edit among thousands serialises one.
 */
const builtResources = new WeakMap<AcceptedResource["message"], SnapshotResource>();

function buildResource({ key, domain, message }: AcceptedResource): SnapshotResource {
  const known = builtResources.get(message);
  if (known?.name === key && known.domain === domain) return known;
  const bytes = encodeResource(message);
  const built = { name: key, bytes, digest: hashOf(bytes), domain };
  builtResources.set(message, built);
  return built;
}

/** A snapshot of these resources, which must be sorted by name. */
export function buildSnapshot(resources: readonly SnapshotResource[]): Snapshot {
  return new LazySnapshot(resources);
}

class LazySnapshot implements Snapshot {
  readonly version: string;
  readonly resources: readonly SnapshotResource[];
  readonly sizeBytes: number;
  #digests: ReadonlyMap<string, string> | undefined;
  #body: Buffer | undefined;

  constructor(resources: readonly SnapshotResource[]) {
    this.resources = resources;
    // Of digests, which were made once for each resource: to hash megabytes again for each fleet
    // takes seconds.
    this.version = hashOf(resources.map(({ digest }) => digest).join("\n"));
    this.sizeBytes = resources.reduce((sum, { bytes }) => sum + bytes.length, encodeBody(this.version, []).length);
  }

  get digests(): ReadonlyMap<string, string> {
    return (this.#digests ??= new Map(this.resources.map(({ name, digest }) => [name, digest])));
  }

  get body(): Buffer {
    return (this.#body ??= encodeBody(
      this.version,
      this.resources.map(({ bytes }) => bytes),
    ));
  }
}

function areSame(left: readonly SnapshotResource[], right: readonly SnapshotResource[]): boolean {
  return left.length === right.length && left.every((resource, index) => resource === right[index]);
}

function hashOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, VERSION_LENGTH);
}
