// The immutable configuration of a fleet: its sorted resources, their bytes, and a hash of them as
// the version. Equal content has equal bytes and the same version on every replica and after a
// restart.
import { createHash } from "node:crypto";

import type { AcceptedResource, DesiredConfiguration } from "../assemble/desired-configuration.ts";
import { encodeBody, encodeResource } from "./response-bytes.ts";

/** Hexadecimal characters of a version: 128 bits, so that no two contents have the same version. */
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
 * The configuration for the pods of a fleet. There may be hundreds of fleets: digests and body are
 * made when they are first needed.
 */
export class Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly resources: readonly SnapshotResource[];
  /** Length of the body. */
  readonly sizeBytes: number;
  #digests: ReadonlyMap<string, string> | undefined;
  #body: Buffer | undefined;

  /** `resources` must be sorted by name. */
  constructor(resources: readonly SnapshotResource[]) {
    this.resources = resources;
    // A hash of digests, which exist per resource: hashing megabytes per fleet would take seconds.
    this.version = hashOf(resources.map(({ digest }) => digest).join("\n"));
    this.sizeBytes = resources.reduce((sum, { bytes }) => sum + bytes.length, encodeBody(this.version, []).length);
  }

  /** Digest of each resource by name. */
  get digests(): ReadonlyMap<string, string> {
    return (this.#digests ??= new Map(this.resources.map(({ name, digest }) => [name, digest])));
  }

  /** All resources with version and type, shared by every stream. Must not be changed. */
  get body(): Buffer {
    return (this.#body ??= encodeBody(
      this.version,
      this.resources.map(({ bytes }) => bytes),
    ));
  }
}

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
  /** Why a snapshot is not the wanted one but an earlier one, by fleet as in a publication. */
  readonly restored?: ReadonlyMap<string, Restoration>;
}

/** Pods NACKed the wanted snapshot without naming a resource that could be left out. */
export interface Restoration {
  /** The version that they NACKed. */
  readonly version: string;
  /** When the first NACK came, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly message: string;
}

/**
 * Builds the snapshots of a desired configuration. Each resource is serialised once, for all fleets and until
 * it changes; a fleet without a change since `before` keeps its snapshot.
 */
export function buildSnapshots(desired: DesiredConfiguration, before?: SnapshotSet): SnapshotSet {
  const steps = snapshotSteps(desired, before);
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** The same in short steps: hundreds of fleets with thousands of resources each take a while. */
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
    known !== undefined && areSame(known.resources, list) ? known : new Snapshot(list);
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

/** What was built of a message, which stays the same object until its manifest changes. */
const builtResources = new WeakMap<AcceptedResource["message"], SnapshotResource>();

function buildResource({ key, domain, message }: AcceptedResource): SnapshotResource {
  const known = builtResources.get(message);
  if (known?.name === key && known.domain === domain) return known;
  const bytes = encodeResource(message);
  const built = { name: key, bytes, digest: hashOf(bytes), domain };
  builtResources.set(message, built);
  return built;
}

function areSame(left: readonly SnapshotResource[], right: readonly SnapshotResource[]): boolean {
  return left.length === right.length && left.every((resource, index) => resource === right[index]);
}

function hashOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, VERSION_LENGTH);
}
