// What the pods of one fleet have rejected of what is wanted now: contents of resources by name,
// and whole versions. Bookkeeping only: what follows from it is quarantine-fleet.ts's.
import { makeRoom } from "./make-room.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { addPod, countConnected, forgetPod, newVerdict, type Verdict } from "./verdict.ts";

/**
 * How many connected pods must reject a content, none accepting it, until no further pod is asked
 * about it.
 */
const ASKED_MAX = 100;

/** Most versions whose rejections are remembered. */
const VERSIONS_MAX = 32;

/** The rejections of a content that is wanted now. */
export interface ContentVerdict extends Verdict {
  readonly digest: string;
}

/** A rejection as it comes in. */
export interface Rejection {
  readonly pod: string;
  readonly message: string;
  readonly atMs: number;
}

/** The rejections of one fleet. */
export class FleetVerdicts {
  /** Whether the pod is connected, and of this fleet. */
  readonly #isConnected: (pod: string) => boolean;
  /** By name; only of contents that are wanted. */
  #contents: Map<string, ContentVerdict>;
  /** Versions that were rejected with no resource named, since something else was wanted last. */
  readonly #versions = new Map<string, Verdict>();

  /** Begins with the contents that pods of `origin` rejected. */
  constructor(isConnected: (pod: string) => boolean, origin?: FleetVerdicts) {
    this.#isConnected = isConnected;
    const copy = (verdict: ContentVerdict): ContentVerdict => ({
      ...verdict,
      pods: new Set(verdict.pods),
      connected: undefined,
    });
    this.#contents = new Map(
      [...(origin === undefined ? [] : origin.#contents)].map(([name, verdict]) => [name, copy(verdict)]),
    );
  }

  /** The contents that were rejected, by name. */
  get contents(): ReadonlyMap<string, ContentVerdict> {
    return this.#contents;
  }

  /** The versions that were rejected, by version. */
  get versions(): ReadonlyMap<string, Verdict> {
    return this.#versions;
  }

  /** Drops what is known of contents that are no longer wanted. */
  keepContents(digests: ReadonlyMap<string, string>): void {
    this.#contents = new Map([...this.#contents].filter(([name, { digest }]) => digests.get(name) === digest));
  }

  /** Drops what is known of versions. */
  forgetVersions(): void {
    this.#versions.clear();
  }

  /** Notes that the pod rejects the content; tells whether it is the first to do so. */
  rejectContent(name: string, digest: string, { pod, message, atMs }: Rejection): boolean {
    const known = this.#contents.get(name);
    const verdict = known ?? { digest, ...newVerdict(atMs, message) };
    addPod(verdict, pod, message);
    if (known === undefined) this.#contents.set(name, verdict);
    return known === undefined;
  }

  /** Notes that the pod rejects the version as a whole. */
  rejectVersion(version: string, { pod, message, atMs }: Rejection): void {
    const verdict = this.#versions.get(version) ?? newVerdict(atMs, message);
    if (!this.#versions.has(version)) makeRoom(this.#versions, VERSIONS_MAX);
    this.#versions.set(version, verdict);
    addPod(verdict, pod, message);
  }

  /**
   * A pod that accepts what it rejected is no longer among those that reject it; tells whether it
   * was.
   */
  forgive(pod: string, snapshot: Snapshot, names: ReadonlySet<string> | undefined): boolean {
    const version = names === undefined ? this.#versions.get(snapshot.version) : undefined;
    let isForgiven = version !== undefined && forgetPod(version, pod);
    for (const [name, verdict] of this.#contents) {
      if ((names !== undefined && !names.has(name)) || snapshot.digests.get(name) !== verdict.digest) continue;
      isForgiven = forgetPod(verdict, pod) || isForgiven;
    }
    return isForgiven;
  }

  /** Other pods are connected than before. */
  membersChanged(): void {
    for (const verdict of this.#all()) verdict.connected = undefined;
  }

  /** Whether the pod has rejected something. */
  hasRejections(pod: string): boolean {
    return this.#all().some(({ pods }) => pods.has(pod));
  }

  /** Forgets what the pod rejected. */
  forgetPod(pod: string): void {
    for (const verdict of this.#all()) forgetPod(verdict, pod);
  }

  /** How many of those that reject it are connected. */
  countConnected(verdict: Verdict): number {
    return countConnected(verdict, this.#isConnected);
  }

  /** Whether nobody needs to ask the pod what it makes of it. */
  isKnown(verdict: Verdict, pod: string): boolean {
    return verdict.pods.has(pod) || this.countConnected(verdict) >= ASKED_MAX;
  }

  /**
   * Whether nobody needs to ask the pod what it makes of the version as a whole, because it rejects
   * it.
   */
  hasRejectedVersion(pod: string, version: string): boolean {
    const verdict = this.#versions.get(version);
    return verdict !== undefined && this.isKnown(verdict, pod);
  }

  #all(): readonly Verdict[] {
    return [...this.#contents.values(), ...this.#versions.values()];
  }
}
