// Applies the NACKs of pods to what is published, per fleet: passes the answers of streams to the
// policy of their fleet. In memory: after a restart pods are sent everything again.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import { type NackFilter, type Nacks, NO_NACKS } from "../snapshot/nacks.ts";
import { OTHER_FLEETS } from "../snapshot/publication.ts";
import type { Restoration, Snapshot, SnapshotSet } from "../snapshot/snapshot.ts";
import { type Answered, FleetNackPolicy } from "./fleet-nack-policy.ts";
import { type EarlierNack, StreamNacks } from "./stream-nacks.ts";

/** A pod that answers. */
export interface AnsweringPod {
  readonly nodeId: string;
  readonly fleet: string;
  /** Address and port of the connection. */
  readonly peer: string;
  /** Whether it has no configuration yet: a new process, for which earlier NACKs do not count. */
  readonly isFresh?: boolean;
}

/** The answers of one stream. */
export interface PodAnswers {
  /** The snapshot for the pod instead of the active one of its fleet, if any. */
  candidate(): Snapshot | undefined;
  /** The NACK of the version on this stream, if final; undefined: the version may be sent. */
  nackOf(version: string): Pick<EarlierNack, "message" | "atMs"> | undefined;
  /** The pod ACKed what it was sent. */
  acked(sent: Answered): void;
  /** The pod NACKed what it was sent with this text, which the stream has cut to size. */
  nacked(sent: Answered, message: string): void;
  /** The stream has ended. The NACKs are kept for a pod that comes back. */
  left(): void;
}

/** A stream that is open. */
interface OpenStream {
  readonly fleet: string;
  /** The version that its pod ACKed last. */
  loaded: string | undefined;
}

/** The NACK policy of a replica. */
export class NackPolicy implements NackFilter {
  readonly #clock: () => number;
  readonly #snapshotMaxBytes: number;
  readonly #listeners = new Set<() => void>();
  readonly #fleets = new Map<string, FleetNackPolicy>();
  /** The streams that are open, by the name under which their NACKs are remembered. */
  readonly #open = new Map<string, OpenStream>();

  /** `clock` gives milliseconds since the epoch. */
  constructor(
    { clock }: { readonly clock: () => number },
    { snapshotMaxBytes }: { readonly snapshotMaxBytes: number },
  ) {
    this.#clock = clock;
    this.#snapshotMaxBytes = snapshotMaxBytes;
  }

  apply(wanted: SnapshotSet): SnapshotSet {
    const origin = this.#fleets.get(OTHER_FLEETS);
    // First of all: their pods belong to the other fleets from now on.
    for (const fleet of [...this.#fleets.keys()]) {
      if (fleet !== OTHER_FLEETS && !wanted.byFleet.has(fleet)) this.#fleets.delete(fleet);
    }
    for (const [fleet, snapshot] of wanted.byFleet) {
      const known = this.#fleets.get(fleet);
      // Until it was named its pods belonged to the other fleets: their answers hold for it.
      if (known === undefined) this.#fleets.set(fleet, this.#createFleet(fleet, snapshot, origin));
      else known.want(snapshot);
    }
    if (origin === undefined) this.#fleets.set(OTHER_FLEETS, this.#createFleet(OTHER_FLEETS, wanted.others));
    else origin.want(wanted.others);
    // Pods move with a fleet that is named, or is no longer.
    this.#membersChanged();
    return this.#servedOf(wanted);
  }

  nacks(): Nacks {
    const all = [...this.#fleets]
      .toSorted(([left], [right]) => compareCodeUnits(left, right))
      .map(([name, fleet]) => fleet.nacks(name));
    const [resources, versions] = [all.flatMap((one) => one.resources), all.flatMap((one) => one.versions)];
    return resources.length === 0 && versions.length === 0 ? NO_NACKS : { resources, versions };
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Adds a stream. */
  joined({ nodeId, fleet, peer, isFresh }: AnsweringPod): PodAnswers {
    const pod = this.#nameOf(nodeId, peer);
    const stream: OpenStream = { fleet, loaded: undefined };
    this.#open.set(pod, stream);
    this.#membersChanged();
    if (isFresh === true) this.#policyOf(fleet)?.forget(pod);
    if (this.#policyOf(fleet)?.hasNacks(pod) === true) this.#notify();
    const nacks = new StreamNacks();
    return {
      candidate: () => {
        const own = this.#policyOf(fleet);
        const candidate = own?.candidateFor(pod);
        if (own === undefined || candidate === undefined) return undefined;
        const known = nacks.find(candidate.version);
        // The pod would NACK it again and never be sent the active version: the resource that it
        // names may be in every candidate, because others ACK it.
        const isKnown =
          known !== undefined && (known.epoch === own.epoch || own.isSettled(candidate.version, known.epoch));
        return isKnown ? undefined : candidate;
      },
      nackOf: (version) => {
        const known = nacks.find(version);
        const isFinal = known !== undefined && this.#policyOf(fleet)?.isSettled(version, known.epoch) === true;
        return isFinal ? known : undefined;
      },
      acked: (sent) => {
        nacks.forget(sent.snapshot.version);
        stream.loaded = sent.names === undefined ? sent.snapshot.version : undefined;
        if (this.#policyOf(fleet)?.ack({ ...sent, pod }) === true) this.#notify();
      },
      nacked: (sent, message) => {
        const atMs = this.#clock();
        const own = this.#policyOf(fleet);
        // The answer to a part says nothing about the whole.
        if (sent.names === undefined) {
          if (stream.loaded === sent.snapshot.version) stream.loaded = undefined;
          nacks.note(sent.snapshot.version, { message, atMs, epoch: own?.epoch ?? 0 });
        }
        if (own?.nack({ ...sent, pod }, message, atMs) === true) this.#notify();
      },
      left: () => {
        this.#open.delete(pod);
        this.#membersChanged();
        // One NACK fewer counts, so others may have to be sent the content now.
        if (this.#policyOf(fleet)?.hasNacks(pod) === true) this.#notify();
      },
    };
  }

  #createFleet(fleet: string, wanted: Snapshot, origin?: FleetNackPolicy): FleetNackPolicy {
    const isMember = (stream: OpenStream): boolean =>
      (this.#fleets.has(stream.fleet) ? stream.fleet : OTHER_FLEETS) === fleet;
    const isConnected = (pod: string): boolean => {
      const stream = this.#open.get(pod);
      return stream !== undefined && isMember(stream);
    };
    const isLoaded = (version: string): boolean =>
      this.#open.values().some((stream) => stream.loaded === version && isMember(stream));
    return new FleetNackPolicy(wanted, { snapshotMaxBytes: this.#snapshotMaxBytes, isConnected, isLoaded }, origin);
  }

  #membersChanged(): void {
    for (const fleet of this.#fleets.values()) fleet.membersChanged();
  }

  #servedOf(wanted: SnapshotSet): SnapshotSet {
    const restored = new Map<string, Restoration>();
    const servedFor = (fleet: string, snapshot: Snapshot): Snapshot => {
      const served = this.#fleets.get(fleet)?.served();
      if (served?.restored !== undefined) restored.set(fleet, served.restored);
      return served?.snapshot ?? snapshot;
    };
    const byFleet = new Map(
      [...wanted.byFleet].map(([fleet, snapshot]) => [fleet, servedFor(fleet, snapshot)] as const),
    );
    const others = servedFor(OTHER_FLEETS, wanted.others);
    return { byFleet, others, restored };
  }

  #policyOf(fleet: string): FleetNackPolicy | undefined {
    return this.#fleets.get(fleet) ?? this.#fleets.get(OTHER_FLEETS);
  }

  /**
   * Numbers the streams of one node id from one host; a pod that comes back takes the number that
   * it left, and so its NACKs.
   */
  #nameOf(nodeId: string, peer: string): string {
    const host = peer.slice(0, Math.max(0, peer.lastIndexOf(":")));
    for (let number = 1; ; number += 1) {
      const name = `${nodeId}\n${host}\n${number}`;
      if (!this.#open.has(name)) return name;
    }
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
