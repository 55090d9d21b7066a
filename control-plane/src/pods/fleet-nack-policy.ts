// Decides from the ACKs and NACKs of one fleet's pods which forms of its resources are served, and
// which candidate a pod is sent instead. Pure: answers and time come in.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { NackedResource, Nacks } from "../snapshot/nacks.ts";
import { type Restoration, Snapshot, type SnapshotResource } from "../snapshot/snapshot.ts";
import { evictOldest } from "./evict-oldest.ts";
import { type ContentNackRecord, FleetNacks } from "./fleet-nacks.ts";
import { resourceIn } from "./nack-record.ts";

/** Most resources that are excluded in a fleet: further NACKs count for the whole version. */
const EXCLUDED_MAX = 200;

/** Most versions that are remembered as ACKed, and as servable; and most candidates. */
const VERSIONS_MAX = 32;
const CANDIDATES_MAX = 16;

/** The response that a pod answers. */
export interface Answered {
  readonly snapshot: Snapshot;
  /** The names that it was sent of it; undefined for all. */
  readonly names: ReadonlySet<string> | undefined;
}

/** An answer and its pod; `pod` is the name under which it may come back. */
export interface AnswerOfPod extends Answered {
  readonly pod: string;
}

/** The snapshot to serve; `restored` says why it is an earlier version as a whole. */
export interface Served {
  readonly snapshot: Snapshot;
  readonly restored: Restoration | undefined;
}

/** What the policy asks about the pods of its fleet. */
export interface FleetNackPolicyDeps {
  readonly snapshotMaxBytes: number;
  /** Whether the pod is connected, and of this fleet. */
  readonly isConnected: (pod: string) => boolean;
  /** Whether the last ACK of a connected pod of this fleet is for the version. */
  readonly isLoaded: (version: string) => boolean;
}

/**
 * The policy of one fleet. A pod loads all of a response or nothing, and its NACK names at most one
 * resource. Two rules keep a broken pod from taking resources away from healthy ones: a content
 * that one pod ACKed is never excluded; and each pod is sent a content before it is given less, so
 * its candidate contains what only others NACKed. The NACKs of a pod that left are kept, so that it
 * is not sent the same content again, but they do not count: the pods that replace it may load it.
 */
export class FleetNackPolicy {
  readonly #deps: FleetNackPolicyDeps;
  #wanted: Snapshot;
  /** Increases with each change of what is wanted; continues that of `origin`. */
  #epoch: number;
  /** The forms that a pod ACKed last, by name; only of resources that are wanted. */
  readonly #good: Map<string, SnapshotResource>;
  readonly #nacks: FleetNacks;
  /** Versions that a pod ACKed, since something else was wanted last. */
  readonly #ackedVersions = new Set<string>();
  /** The snapshot that a pod ACKed last. */
  #acked: Snapshot | undefined;
  /** What is wanted without what is excluded. */
  #servable: Snapshot;
  /** Candidates since the last change, by what they leave out; undefined: too large. */
  readonly #candidates = new Map<string, Snapshot | undefined>();
  /** The last servable versions, the newest last. */
  #servableVersions: readonly string[] = [];

  /** `origin` is the fleet that its pods belonged to before. */
  constructor(wanted: Snapshot, deps: FleetNackPolicyDeps, origin?: FleetNackPolicy) {
    this.#deps = deps;
    this.#wanted = wanted;
    this.#servable = wanted;
    this.#epoch = origin === undefined ? 0 : origin.#epoch;
    this.#good = new Map(origin === undefined ? [] : [...origin.#good].filter(([name]) => wanted.digests.has(name)));
    this.#nacks = new FleetNacks(deps.isConnected, origin === undefined ? undefined : origin.#nacks);
    this.#acked = origin === undefined ? undefined : origin.#acked;
    this.#forgetContents();
    this.#settle();
  }

  /** Takes what is wanted now: NACKs of deleted or edited contents are forgotten. */
  want(wanted: Snapshot): void {
    if (wanted.version === this.#wanted.version) return;
    const gone = namesGone(this.#wanted, wanted);
    this.#wanted = wanted;
    this.#epoch += 1;
    this.#nacks.clearVersions();
    this.#ackedVersions.clear();
    for (const name of gone) this.#good.delete(name);
    this.#forgetContents();
    // A pod that has loaded it is not sent it again: its answer holds.
    if (this.#deps.isLoaded(wanted.version)) this.#takeLoaded();
    this.#settle();
  }

  /** The snapshot to serve. */
  served(): Served {
    const servable = this.#servable;
    const record = this.#nacks.versions.get(servable.version);
    const isRestored =
      record !== undefined &&
      !this.#ackedVersions.has(servable.version) &&
      this.#acked !== undefined &&
      this.#acked.version !== servable.version;
    if (!isRestored || this.#acked === undefined) return { snapshot: servable, restored: undefined };
    const { sinceMs, message } = record;
    return { snapshot: this.#acked, restored: { version: servable.version, sinceMs, message } };
  }

  /**
   * The snapshot for this pod instead of the active one, because others NACKed a content that this
   * pod was never sent; undefined: the active one.
   */
  candidateFor(pod: string): Snapshot | undefined {
    const excluded = this.#excluded();
    const known = excluded.filter(([, record]) => this.#nacks.isKnown(record, pod)).map(([name]) => name);
    if (known.length < excluded.length) {
      const candidate = this.#candidateWithout(known);
      if (candidate !== undefined && !this.#nacks.isVersionKnown(pod, candidate.version)) return candidate;
    }
    const isFinal = this.served().restored === undefined || this.#nacks.isVersionKnown(pod, this.#servable.version);
    return isFinal ? undefined : this.#servable;
  }

  /** Increases with each change of what is wanted. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Whether the answer of a pod that NACKed the version in that epoch is final: the version is back
   * because others ACK it. A version that was edited back is sent again, and so is one without ACK.
   */
  isSettled(version: string, epoch: number): boolean {
    if (version === this.#wanted.version && epoch !== this.#epoch) return false;
    return this.#ackedVersions.has(version) || this.#acked?.version === version;
  }

  /** Other pods are connected than before. */
  membersChanged(): void {
    this.#nacks.membersChanged();
  }

  /** Whether the pod has NACKed something. */
  hasNacks(pod: string): boolean {
    return this.#nacks.hasNacks(pod);
  }

  /** Forgets the NACKs of the pod: they came from an earlier process. */
  forget(pod: string): void {
    this.#nacks.forgetPod(pod);
  }

  /** Takes an ACK; returns whether it changed anything. */
  ack({ pod, snapshot, names }: AnswerOfPod): boolean {
    const isCleared = this.#nacks.clear(pod, snapshot, names);
    if (names === undefined && this.#ackedVersions.has(snapshot.version)) return isCleared;
    const isLate = this.#isLate(snapshot);
    let isChanged = isCleared || (names === undefined && this.#nacks.versions.size > 0);
    for (const resource of snapshot.resources) {
      const wanted = this.#wanted.digests.get(resource.name);
      if (wanted === undefined || (names !== undefined && !names.has(resource.name))) continue;
      const good = this.#good.get(resource.name)?.digest;
      // A late answer to an older version is about older forms, which do not replace newer ones.
      if (good !== undefined && (good === wanted || good === resource.digest || (isLate && resource.digest !== wanted)))
        continue;
      this.#good.set(resource.name, resource);
      // The good form of a resource without NACKs is served already.
      isChanged ||= this.#nacks.contents.has(resource.name);
    }
    if (names === undefined) {
      evictOldest(this.#ackedVersions, VERSIONS_MAX);
      this.#ackedVersions.add(snapshot.version);
    }
    if (isChanged) this.#settle();
    // After settling: a version that became servable again is the newest.
    if (names === undefined && !this.#isLate(snapshot)) this.#acked = snapshot;
    return isChanged;
  }

  /** Takes a NACK; returns whether it changed anything. */
  nack({ pod, snapshot, names }: AnswerOfPod, message: string, atMs: number): boolean {
    const name = resourceIn(message);
    const digest = names === undefined || names.has(name) ? snapshot.digests.get(name) : undefined;
    if (digest === undefined || (!this.#nacks.contents.has(name) && this.#excluded().length >= EXCLUDED_MAX)) {
      this.#nacks.nackVersion(snapshot.version, { pod, message, atMs });
    } else {
      // The NACK is for an older form: the pod is sent another one next.
      if (digest !== this.#wanted.digests.get(name)) return false;
      if (this.#nacks.nackContent(name, digest, { pod, message, atMs })) this.#settle();
    }
    return true;
  }

  /** The NACKs that count at present, resources by name. */
  nacks(fleet: string): Nacks {
    const { snapshot, restored } = this.served();
    const resources = [...this.#nacks.contents]
      .toSorted(([left], [right]) => compareCodeUnits(left, right))
      .map(([name, record]): NackedResource => {
        const { digest, sinceMs, message } = record;
        const active = snapshot.digests.get(name);
        const serves = active === undefined ? "nothing" : active === digest ? "present" : "last-good";
        const nackingPods = this.#nacks.countConnected(record);
        return { fleet, resource: name, sinceMs, message, serves, nackingPods };
      })
      // An active content that only disconnected pods NACKed affects no pod.
      .filter(({ serves, nackingPods }) => serves !== "present" || nackingPods > 0);
    const record = this.#nacks.versions.get(this.#servable.version);
    if (record === undefined) return { resources, versions: [] };
    const { sinceMs, message } = record;
    const version = this.#servable.version;
    const instead = restored === undefined ? undefined : snapshot.version;
    const nackingPods = this.#nacks.countConnected(record);
    if (instead === undefined && nackingPods === 0) return { resources, versions: [] };
    return { resources, versions: [{ fleet, version, sinceMs, message, restored: instead, nackingPods }] };
  }

  /** Whether an answer to a newer snapshot came first. */
  #isLate({ version }: Snapshot): boolean {
    return this.#acked !== undefined && this.#ageOf(version) > this.#ageOf(this.#acked.version);
  }

  /** A pod has ACKed what is wanted, before it was. */
  #takeLoaded(): void {
    for (const resource of this.#wanted.resources) this.#good.set(resource.name, resource);
    this.#ackedVersions.add(this.#wanted.version);
    this.#acked = this.#wanted;
  }

  /** Forgets contents that are no longer wanted; makes no digests where nothing was NACKed. */
  #forgetContents(): void {
    if (this.#nacks.contents.size > 0) this.#nacks.keepContents(this.#wanted.digests);
  }

  /** Computes the servable snapshot again. */
  #settle(): void {
    this.#candidates.clear();
    this.#servable = this.#without(this.#excluded().map(([name]) => name));
    const { version } = this.#servable;
    if (this.#servableVersions.at(-1) === version) return;
    this.#servableVersions = [...this.#servableVersions.filter((servable) => servable !== version), version].slice(
      -VERSIONS_MAX,
    );
  }

  /** How many servable versions came after this one; an unknown one is the oldest. */
  #ageOf(version: string): number {
    const index = this.#servableVersions.indexOf(version);
    return index === -1 ? VERSIONS_MAX : this.#servableVersions.length - 1 - index;
  }

  /** The contents that were NACKed and that no pod ACKed. */
  #excluded(): readonly (readonly [string, ContentNackRecord])[] {
    const { contents } = this.#nacks;
    if (contents.size === 0) return [];
    return [...contents].filter(([name, { digest }]) => this.#good.get(name)?.digest !== digest);
  }

  /** What is wanted, with the last good forms of these resources unless their domain is taken. */
  #without(names: readonly string[]): Snapshot {
    if (names.length === 0) return this.#wanted;
    const excluded = new Set(names);
    const resources = this.#wanted.resources.filter(({ name }) => !excluded.has(name));
    // A domain stays with its owner, also while the owner's last good form or nothing is served.
    const owners = new Map(this.#wanted.resources.map(({ name, domain }) => [domain, name]));
    for (const name of names.toSorted()) {
      const good = this.#good.get(name);
      if (good === undefined || (owners.get(good.domain) ?? name) !== name) continue;
      owners.set(good.domain, name);
      resources.push(good);
    }
    return new Snapshot(resources.toSorted((left, right) => compareCodeUnits(left.name, right.name)));
  }

  #candidateWithout(names: readonly string[]): Snapshot | undefined {
    const key = names.join("\n");
    if (this.#candidates.has(key) || this.#candidates.size >= CANDIDATES_MAX) return this.#candidates.get(key);
    const made = this.#without(names);
    const candidate = made.sizeBytes > this.#deps.snapshotMaxBytes ? undefined : made;
    this.#candidates.set(key, candidate);
    return candidate;
  }
}

/** Names of resources that only the first snapshot contains. Both are sorted, and mostly equal. */
function namesGone(before: Snapshot, after: Snapshot): readonly string[] {
  let index = 0;
  return before.resources.flatMap((resource) => {
    let other = after.resources[index];
    while (other !== undefined && other !== resource && compareCodeUnits(other.name, resource.name) < 0)
      other = after.resources[(index += 1)];
    const isThere = other !== undefined && (other === resource || other.name === resource.name);
    if (isThere) index += 1;
    return isThere ? [] : [resource.name];
  });
}
