// What a fleet is sent, immutable: its resources in one order, their bytes, and a version that is a hash of them. Equal content has equal bytes and the
// same version on every replica, today and after a restart.
import { createHash } from "node:crypto";

import type { AcceptedResource, Assembly } from "../assemble/assembly.ts";
import { encodeBody, encodeResource } from "./response-bytes.ts";

/** Characters of a version, hexadecimal: 128 bits, so that nobody finds two contents with the same version. */
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

/** Everything for the pods of a fleet. */
export interface Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly resources: readonly SnapshotResource[];
  /** Digest of each resource by name. */
  readonly digests: ReadonlyMap<string, string>;
  /** All resources with version and type, as they are sent; shared by every stream. Must not be changed. */
  readonly body: Buffer;
}

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
  /** Why a snapshot is not what is wanted but the one before it, by fleet; all others have the empty text. */
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
 * Builds the snapshots of an assembly. Each resource is serialised once, however many fleets it is for and however often others change; a fleet for which
 * nothing is new since `before` keeps its snapshot.
 */
export function buildSnapshots(assembly: Assembly, before?: SnapshotSet): SnapshotSet {
  const resources = assembly.accepted.map((resource) => ({ resource, built: buildResource(resource) }));
  const build = (known: Snapshot | undefined, isFor: (resource: AcceptedResource) => boolean): Snapshot => {
    const wanted = resources.filter(({ resource }) => isFor(resource)).map(({ built }) => built);
    return known !== undefined && areSame(known.resources, wanted) ? known : buildSnapshot(wanted);
  };
  return {
    byFleet: new Map(
      assembly.fleets.map((fleet) => {
        const isFor = ({ fleets }: AcceptedResource): boolean => fleets === undefined || fleets.includes(fleet);
        return [fleet, build(before?.byFleet.get(fleet), isFor)] as const;
      }),
    ),
    others: build(before?.others, ({ fleets }) => fleets === undefined),
  };
}

/** The resources with these names, as a snapshot would send them: same version, fewer resources. */
export function encodeSubset(snapshot: Snapshot, isWanted: (name: string) => boolean): Buffer {
  const bytes = snapshot.resources.filter(({ name }) => isWanted(name)).map((resource) => resource.bytes);
  return encodeBody(snapshot.version, bytes);
}

/** What was built of a message, which is the same object as long as its manifest does not change: an edit among thousands serialises one. */
const builtResources = new WeakMap<AcceptedResource["message"], SnapshotResource>();

function buildResource({ key, domain, message }: AcceptedResource): SnapshotResource {
  const known = builtResources.get(message);
  if (known?.name === key && known.domain === domain) return known;
  const bytes = encodeResource(message);
  const built = { name: key, bytes, digest: hashOf([bytes]), domain };
  builtResources.set(message, built);
  return built;
}

/** A snapshot of these resources, which must be sorted by name. */
export function buildSnapshot(resources: readonly SnapshotResource[]): Snapshot {
  const bytes = resources.map((resource) => resource.bytes);
  // Each field carries its own length, so that no two lists of resources run together to the same bytes.
  const version = hashOf(bytes);
  return {
    version,
    resources,
    digests: new Map(resources.map(({ name, digest }) => [name, digest])),
    body: encodeBody(version, bytes),
  };
}

function areSame(left: readonly SnapshotResource[], right: readonly SnapshotResource[]): boolean {
  return left.length === right.length && left.every((resource, index) => resource === right[index]);
}

function hashOf(parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, VERSION_LENGTH);
}
