// What the pods of one fleet made of its resources, and what follows from it: which forms are
// served, and what a pod is asked once more. No clock, no stream: answers and time come in. A pod
// loads all of a response or nothing, and its rejection names at most one resource.
//
// Two rules keep a broken pod from taking resources away from sound ones. What one pod accepted is
// never quarantined. And every pod is asked about a content before it is given less: until it has
// answered, its offer goes on to hold what only others rejected. What a pod said that has left is
// kept, so that it is not asked again when it comes back, but it counts no more: the pods that take
// its place may be of another mind.
import type { RejectedResource, RejectedVersion } from "../snapshot/rejections.ts";
import { buildSnapshot, type Restoration, type Snapshot, type SnapshotResource } from "../snapshot/snapshot.ts";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { type ContentVerdict, FleetVerdicts } from "./fleet-verdicts.ts";
import { makeRoom } from "./make-room.ts";
import { nameIn } from "./verdict.ts";

/**
 * Most resources that are quarantined in a fleet: pods that reject more reject the whole, and each
 * further one costs a push.
 */
const QUARANTINED_MAX = 200;

/**
 * Most versions of which it is remembered that a pod accepted them, or that they could be served,
 * and most different offers that are kept.
 */
const VERSIONS_MAX = 32;
const OFFERS_MAX = 16;

/** What a pod was sent and answers to. */
export interface Answered {
  readonly snapshot: Snapshot;
  /** The names that it was sent of it; undefined for all. */
  readonly names: ReadonlySet<string> | undefined;
}

/** What a pod answers to; `pod` is its name as long as it may come back. */
export interface AnswerOfPod extends Answered {
  readonly pod: string;
}

/**
 * What may be served, and why that is not what is wanted if it is an earlier version as a whole.
 */
export interface Served {
  readonly snapshot: Snapshot;
  readonly restored: Restoration | undefined;
}

/** What a fleet needs to know. */
export interface FleetQuarantineDeps {
  readonly snapshotMaxBytes: number;
  /** Whether the pod is connected, and of this fleet. */
  readonly isConnected: (pod: string) => boolean;
  /** Whether a connected pod of this fleet has accepted the version, and nothing since. */
  readonly isLoaded: (version: string) => boolean;
}

/** One fleet. */
export class FleetQuarantine {
  readonly #deps: FleetQuarantineDeps;
  #wanted: Snapshot;
  /** Counts what was wanted, also of the fleet that its pods belonged to before. */
  #round: number;
  /** The forms that a pod accepted last, by name; only of resources that are wanted. */
  readonly #good: Map<string, SnapshotResource>;
  readonly #verdicts: FleetVerdicts;
  /** Versions that a pod accepted, since something else was wanted last. */
  readonly #acceptedVersions = new Set<string>();
  /** The snapshot that a pod accepted last. */
  #accepted: Snapshot | undefined;
  /** What is wanted without what is quarantined. */
  #candidate: Snapshot;
  /**
   * Offers made since the last answer that changed something, by what they leave out; undefined
   * where one would be too large.
   */
  readonly #offers = new Map<string, Snapshot | undefined>();
  /** The last candidates, the newest last. */
  #candidates: readonly string[] = [];

  /** A fleet that is wanted this; `origin` is the one that its pods belonged to before. */
  constructor(wanted: Snapshot, deps: FleetQuarantineDeps, origin?: FleetQuarantine) {
    this.#deps = deps;
    this.#wanted = wanted;
    this.#candidate = wanted;
    this.#round = origin === undefined ? 0 : origin.#round;
    this.#good = new Map(origin === undefined ? [] : [...origin.#good].filter(([name]) => wanted.digests.has(name)));
    this.#verdicts = new FleetVerdicts(deps.isConnected, origin === undefined ? undefined : origin.#verdicts);
    this.#accepted = origin === undefined ? undefined : origin.#accepted;
    this.#forgetContents();
    this.#settle();
  }

  /**
   * Something may be wanted that was not before: rejections of what is gone or edited are
   * forgotten.
   */
  want(wanted: Snapshot): void {
    if (wanted.version === this.#wanted.version) return;
    const gone = namesGone(this.#wanted, wanted);
    this.#wanted = wanted;
    this.#round += 1;
    this.#verdicts.forgetVersions();
    this.#acceptedVersions.clear();
    for (const name of gone) this.#good.delete(name);
    this.#forgetContents();
    // Who has it already is not sent it again, as when something else was wanted for a moment: what
    // it said holds.
    if (this.#deps.isLoaded(wanted.version)) this.#takeLoaded();
    this.#settle();
  }

  /** What may be served. */
  served(): Served {
    const candidate = this.#candidate;
    const verdict = this.#verdicts.versions.get(candidate.version);
    const isRestored =
      verdict !== undefined &&
      !this.#acceptedVersions.has(candidate.version) &&
      this.#accepted !== undefined &&
      this.#accepted.version !== candidate.version;
    if (!isRestored || this.#accepted === undefined) return { snapshot: candidate, restored: undefined };
    const { sinceMs, message } = verdict;
    return { snapshot: this.#accepted, restored: { version: candidate.version, sinceMs, message } };
  }

  /**
   * What this pod should be sent instead of what is in force, because others rejected it and this
   * pod has not been asked; undefined: what is in force.
   */
  offerFor(pod: string): Snapshot | undefined {
    const quarantined = this.#quarantined();
    const known = quarantined.filter(([, verdict]) => this.#verdicts.isKnown(verdict, pod)).map(([name]) => name);
    if (known.length < quarantined.length) {
      const offer = this.#offerWithout(known);
      if (offer !== undefined && !this.#verdicts.hasRejectedVersion(pod, offer.version)) return offer;
    }
    const isAsked =
      this.served().restored === undefined || this.#verdicts.hasRejectedVersion(pod, this.#candidate.version);
    return isAsked ? undefined : this.#candidate;
  }

  /** Counts what was wanted so far. */
  get round(): number {
    return this.#round;
  }

  /**
   * Whether a pod that rejected the version in that round would only be sent it once more, for
   * nothing: it came back because others accept it. What was edited back is asked again, and so is
   * what nobody accepts: something follows from the answer.
   */
  isSettled(version: string, round: number): boolean {
    if (version === this.#wanted.version && round !== this.#round) return false;
    return this.#acceptedVersions.has(version) || this.#accepted?.version === version;
  }

  /** Other pods are connected than before. */
  membersChanged(): void {
    this.#verdicts.membersChanged();
  }

  /** Whether the pod has rejected something that is not settled. */
  hasRejections(pod: string): boolean {
    return this.#verdicts.hasRejections(pod);
  }

  /** The pod begins anew: what it said was said by another process. */
  forget(pod: string): void {
    this.#verdicts.forgetPod(pod);
  }

  /** Takes in that a pod accepted what it was sent; tells whether that changed anything. */
  accept({ pod, snapshot, names }: AnswerOfPod): boolean {
    const isForgiven = this.#verdicts.forgive(pod, snapshot, names);
    if (names === undefined && this.#acceptedVersions.has(snapshot.version)) return isForgiven;
    const isLate = this.#isLate(snapshot);
    let isChanged = isForgiven || (names === undefined && this.#verdicts.versions.size > 0);
    for (const resource of snapshot.resources) {
      const wanted = this.#wanted.digests.get(resource.name);
      if (wanted === undefined || (names !== undefined && !names.has(resource.name))) continue;
      const good = this.#good.get(resource.name)?.digest;
      // A late answer to an older version tells of older forms, which do not displace newer ones.
      if (good !== undefined && (good === wanted || good === resource.digest || (isLate && resource.digest !== wanted)))
        continue;
      this.#good.set(resource.name, resource);
      // What is good of a resource that nobody rejects is served already.
      isChanged ||= this.#verdicts.contents.has(resource.name);
    }
    if (names === undefined) {
      makeRoom(this.#acceptedVersions, VERSIONS_MAX);
      this.#acceptedVersions.add(snapshot.version);
    }
    if (isChanged) this.#settle();
    // Only now: what this made the candidate again is the newest, whenever it was wanted first.
    if (names === undefined && !this.#isLate(snapshot)) this.#accepted = snapshot;
    return isChanged;
  }

  /** Takes in that a pod rejected what it was sent; tells whether that changed anything. */
  reject({ pod, snapshot, names }: AnswerOfPod, message: string, atMs: number): boolean {
    const name = nameIn(message);
    const digest = names === undefined || names.has(name) ? snapshot.digests.get(name) : undefined;
    if (digest === undefined || (!this.#verdicts.contents.has(name) && this.#quarantined().length >= QUARANTINED_MAX)) {
      this.#verdicts.rejectVersion(snapshot.version, { pod, message, atMs });
    } else {
      // An older form was rejected: what the pod is sent next is another one.
      if (digest !== this.#wanted.digests.get(name)) return false;
      if (this.#verdicts.rejectContent(name, digest, { pod, message, atMs })) this.#settle();
    }
    return true;
  }

  /** What is rejected at present, resources by name. */
  rejections(fleet: string): {
    readonly resources: readonly RejectedResource[];
    readonly versions: readonly RejectedVersion[];
  } {
    const { snapshot, restored } = this.served();
    const resources = [...this.#verdicts.contents]
      .toSorted(([left], [right]) => compareCodeUnits(left, right))
      .map(([name, verdict]): RejectedResource => {
        const { digest, sinceMs, message } = verdict;
        const inForce = snapshot.digests.get(name);
        const serves = inForce === undefined ? "nothing" : inForce === digest ? "present" : "last-good";
        return {
          fleet,
          resource: name,
          sinceMs,
          message,
          serves,
          rejectingPods: this.#verdicts.countConnected(verdict),
        };
      })
      // What is in force and rejected only by pods that are gone troubles nobody.
      .filter(({ serves, rejectingPods }) => serves !== "present" || rejectingPods > 0);
    const verdict = this.#verdicts.versions.get(this.#candidate.version);
    if (verdict === undefined) return { resources, versions: [] };
    const { sinceMs, message } = verdict;
    const version = this.#candidate.version;
    const instead = restored === undefined ? undefined : snapshot.version;
    const rejectingPods = this.#verdicts.countConnected(verdict);
    if (instead === undefined && rejectingPods === 0) return { resources, versions: [] };
    return { resources, versions: [{ fleet, version, sinceMs, message, restored: instead, rejectingPods }] };
  }

  /** Whether the answer to the snapshot comes after that to a newer one. */
  #isLate({ version }: Snapshot): boolean {
    return this.#accepted !== undefined && this.#ageOf(version) > this.#ageOf(this.#accepted.version);
  }

  /** A pod has accepted what is wanted, before it was. */
  #takeLoaded(): void {
    for (const resource of this.#wanted.resources) this.#good.set(resource.name, resource);
    this.#acceptedVersions.add(this.#wanted.version);
    this.#accepted = this.#wanted;
  }

  /**
   * Drops what is known of contents that are no longer wanted. Digests of thousands of resources
   * are not looked at where nothing was rejected.
   */
  #forgetContents(): void {
    if (this.#verdicts.contents.size > 0) this.#verdicts.keepContents(this.#wanted.digests);
  }

  /** Finds again what may be served. */
  #settle(): void {
    this.#offers.clear();
    this.#candidate = this.#without(this.#quarantined().map(([name]) => name));
    const { version } = this.#candidate;
    if (this.#candidates.at(-1) === version) return;
    this.#candidates = [...this.#candidates.filter((candidate) => candidate !== version), version].slice(-VERSIONS_MAX);
  }

  /** How many candidates came after this version; one that is not remembered is older than all. */
  #ageOf(version: string): number {
    const index = this.#candidates.indexOf(version);
    return index === -1 ? VERSIONS_MAX : this.#candidates.length - 1 - index;
  }

  /** The contents that were rejected and that nobody accepted. */
  #quarantined(): readonly (readonly [string, ContentVerdict])[] {
    const { contents } = this.#verdicts;
    if (contents.size === 0) return [];
    return [...contents].filter(([name, { digest }]) => this.#good.get(name)?.digest !== digest);
  }

  /**
   * What is wanted, with the last good forms of these resources, or without them where another
   * resource has their domain now.
   */
  #without(names: readonly string[]): Snapshot {
    if (names.length === 0) return this.#wanted;
    const excluded = new Set(names);
    const resources = this.#wanted.resources.filter(({ name }) => !excluded.has(name));
    // A domain is its owner's, also while the owner itself is served in its last good form or not
    // at all.
    const owners = new Map(this.#wanted.resources.map(({ name, domain }) => [domain, name]));
    for (const name of names.toSorted()) {
      const good = this.#good.get(name);
      if (good === undefined || (owners.get(good.domain) ?? name) !== name) continue;
      owners.set(good.domain, name);
      resources.push(good);
    }
    return buildSnapshot(resources.toSorted((left, right) => compareCodeUnits(left.name, right.name)));
  }

  #offerWithout(names: readonly string[]): Snapshot | undefined {
    const key = names.join("\n");
    if (this.#offers.has(key) || this.#offers.size >= OFFERS_MAX) return this.#offers.get(key);
    const made = this.#without(names);
    const offer = made.sizeBytes > this.#deps.snapshotMaxBytes ? undefined : made;
    this.#offers.set(key, offer);
    return offer;
  }
}

/**
 * Names of resources that are in one snapshot and not in the next. Both are sorted, and most of
 * what is in them is the same.
 */
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
