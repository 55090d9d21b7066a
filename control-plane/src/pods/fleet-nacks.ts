// The NACKs of one fleet's pods: of contents of the wanted resources by name, and of whole
// versions. fleet-nack-policy.ts decides what follows from them.
import type { Snapshot } from "../snapshot/snapshot.ts";
import { evictOldest } from "./evict-oldest.ts";
import { addPod, countConnected, newNackRecord, type NackRecord, removePod } from "./nack-record.ts";

/** How many connected pods must NACK a content, none ACKing it, until no further pod is sent it. */
const ASKED_MAX = 100;

/** Most versions whose NACKs are remembered. */
const VERSIONS_MAX = 32;

/** The NACKs of a content that is wanted now. */
export interface ContentNackRecord extends NackRecord {
  readonly digest: string;
}

/** A NACK as it comes in. */
export interface Nack {
  readonly pod: string;
  readonly message: string;
  readonly atMs: number;
}

/** The NACKs of one fleet. */
export class FleetNacks {
  /** Whether the pod is connected, and of this fleet. */
  readonly #isConnected: (pod: string) => boolean;
  /** By name; only of contents that are wanted. */
  #contents: Map<string, ContentNackRecord>;
  /** Versions that were NACKed with no resource named, since something else was wanted last. */
  readonly #versions = new Map<string, NackRecord>();

  /** Begins with the contents that pods of `origin` NACKed. */
  constructor(isConnected: (pod: string) => boolean, origin?: FleetNacks) {
    this.#isConnected = isConnected;
    this.#contents = new Map(
      [...(origin === undefined ? [] : origin.#contents)].map(([name, record]) => [
        name,
        { ...record, pods: new Set(record.pods), connected: undefined },
      ]),
    );
  }

  /** The NACKed contents, by name. */
  get contents(): ReadonlyMap<string, ContentNackRecord> {
    return this.#contents;
  }

  /** The NACKed versions, by version. */
  get versions(): ReadonlyMap<string, NackRecord> {
    return this.#versions;
  }

  /** Forgets contents that are no longer wanted. */
  keepContents(digests: ReadonlyMap<string, string>): void {
    this.#contents = new Map([...this.#contents].filter(([name, { digest }]) => digests.get(name) === digest));
  }

  /** Forgets the versions. */
  clearVersions(): void {
    this.#versions.clear();
  }

  /** Records that the pod NACKs the content; returns whether it is the first to do so. */
  nackContent(name: string, digest: string, { pod, message, atMs }: Nack): boolean {
    const known = this.#contents.get(name);
    const record = known ?? { digest, ...newNackRecord(atMs, message) };
    addPod(record, pod, message);
    if (known === undefined) this.#contents.set(name, record);
    return known === undefined;
  }

  /** Records that the pod NACKs the version as a whole. */
  nackVersion(version: string, { pod, message, atMs }: Nack): void {
    const record = this.#versions.get(version) ?? newNackRecord(atMs, message);
    if (!this.#versions.has(version)) evictOldest(this.#versions, VERSIONS_MAX);
    this.#versions.set(version, record);
    addPod(record, pod, message);
  }

  /** Removes the pod's NACKs of what it now ACKs; returns whether there were any. */
  clear(pod: string, snapshot: Snapshot, names: ReadonlySet<string> | undefined): boolean {
    const version = names === undefined ? this.#versions.get(snapshot.version) : undefined;
    let isCleared = version !== undefined && removePod(version, pod);
    for (const [name, record] of this.#contents) {
      if ((names !== undefined && !names.has(name)) || snapshot.digests.get(name) !== record.digest) continue;
      isCleared = removePod(record, pod) || isCleared;
    }
    return isCleared;
  }

  /** Other pods are connected than before. */
  membersChanged(): void {
    for (const record of this.#all()) record.connected = undefined;
  }

  /** Whether the pod has NACKed something. */
  hasNacks(pod: string): boolean {
    return this.#all().some(({ pods }) => pods.has(pod));
  }

  /** Forgets the NACKs of the pod. */
  forgetPod(pod: string): void {
    for (const record of this.#all()) removePod(record, pod);
  }

  /** How many pods of the record are connected. */
  countConnected(record: NackRecord): number {
    return countConnected(record, this.#isConnected);
  }

  /** Whether the answer of the pod is known or no longer needed. */
  isKnown(record: NackRecord, pod: string): boolean {
    return record.pods.has(pod) || this.countConnected(record) >= ASKED_MAX;
  }

  /** The same for a version as a whole; false for one without NACKs. */
  isVersionKnown(pod: string, version: string): boolean {
    const record = this.#versions.get(version);
    return record !== undefined && this.isKnown(record, pod);
  }

  #all(): readonly NackRecord[] {
    return [...this.#contents.values(), ...this.#versions.values()];
  }
}
