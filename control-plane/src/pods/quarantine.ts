// Keeps from pods what they reject, per fleet: connects the answers of streams with what may be
// published. What follows from an answer is quarantine-fleet.ts's. In memory, for this replica:
// after a restart pods are asked anew, and a resource that they reject is then left out.
import { NO_REJECTIONS, type Quarantine, type Rejections } from "../snapshot/rejections.ts";
import { OTHER_FLEETS } from "../snapshot/publication.ts";
import type { Restoration, Snapshot, SnapshotSet } from "../snapshot/snapshot.ts";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { type Answered, FleetQuarantine } from "./quarantine-fleet.ts";
import { type EarlierRejection, StreamRejections } from "./stream-rejections.ts";

/** A pod, as far as it matters here. */
export interface AnsweringPod {
  readonly nodeId: string;
  readonly fleet: string;
  /** Address and port of the connection. */
  readonly peer: string;
  /**
   * Whether it says that it has no configuration yet: the process is new, whatever one before it
   * said under the same name.
   */
  readonly isFresh?: boolean;
}

/** The answers of one stream. */
export interface PodAnswers {
  /** What the pod should be sent instead of what is in force for its fleet, if anything. */
  offer(): Snapshot | undefined;
  /**
   * What the pod said when it rejected the version on this stream, if it need not be asked again;
   * undefined: it may be sent the version.
   */
  rejectionOf(version: string): Pick<EarlierRejection, "message" | "atMs"> | undefined;
  /** It has accepted what it was sent. */
  accepted(sent: Answered): void;
  /**
   * It has rejected what it was sent, in these words, which are kept as they are: the stream cuts
   * what is too long.
   */
  rejected(sent: Answered, message: string): void;
  /**
   * The stream has ended. What the pod said stays known, so that it is not asked the same again
   * when it comes back.
   */
  left(): void;
}

/** The quarantine of a replica. */
export interface PodQuarantine extends Quarantine {
  /** Adds a stream. */
  joined(pod: AnsweringPod): PodAnswers;
}

/** A stream that is open. */
interface OpenStream {
  readonly fleet: string;
  /** The version that its pod accepted last. */
  loaded: string | undefined;
}

/** Makes a quarantine in which nothing is. `clock` gives milliseconds since the epoch. */
export function createQuarantine(
  deps: { readonly clock: () => number },
  options: { readonly snapshotMaxBytes: number },
): PodQuarantine {
  return new FleetsQuarantine(deps.clock, options.snapshotMaxBytes);
}

class FleetsQuarantine implements PodQuarantine {
  readonly #clock: () => number;
  readonly #snapshotMaxBytes: number;
  readonly #listeners = new Set<() => void>();
  readonly #fleets = new Map<string, FleetQuarantine>();
  /** The streams that are open, by the name under which what they say is remembered. */
  readonly #open = new Map<string, OpenStream>();

  constructor(clock: () => number, snapshotMaxBytes: number) {
    this.#clock = clock;
    this.#snapshotMaxBytes = snapshotMaxBytes;
  }

  apply(wanted: SnapshotSet): SnapshotSet {
    const origin = this.#fleets.get(OTHER_FLEETS);
    // First of all: their pods are among the others from now on.
    for (const fleet of [...this.#fleets.keys()]) {
      if (fleet !== OTHER_FLEETS && !wanted.byFleet.has(fleet)) this.#fleets.delete(fleet);
    }
    for (const [fleet, snapshot] of wanted.byFleet) {
      const known = this.#fleets.get(fleet);
      // Until it was named its pods were among the others: what those said holds for them.
      if (known === undefined) this.#fleets.set(fleet, this.#createFleet(fleet, snapshot, origin));
      else known.want(snapshot);
    }
    if (origin === undefined) this.#fleets.set(OTHER_FLEETS, this.#createFleet(OTHER_FLEETS, wanted.others));
    else origin.want(wanted.others);
    // A fleet that is named, or is no longer, takes its pods along.
    this.#membersChanged();
    return this.#servedOf(wanted);
  }

  rejections(): Rejections {
    const all = [...this.#fleets]
      .toSorted(([left], [right]) => compareCodeUnits(left, right))
      .map(([name, fleet]) => fleet.rejections(name));
    const [resources, versions] = [all.flatMap((one) => one.resources), all.flatMap((one) => one.versions)];
    return resources.length === 0 && versions.length === 0 ? NO_REJECTIONS : { resources, versions };
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  joined({ nodeId, fleet, peer, isFresh }: AnsweringPod): PodAnswers {
    const pod = this.#nameOf(nodeId, peer);
    const stream: OpenStream = { fleet, loaded: undefined };
    this.#open.set(pod, stream);
    this.#membersChanged();
    if (isFresh === true) this.#fleetOf(fleet)?.forget(pod);
    if (this.#fleetOf(fleet)?.hasRejections(pod) === true) this.#tell();
    const rejections = new StreamRejections();
    const rejectionOf = (version: string): EarlierRejection | undefined => {
      const known = rejections.find(version);
      return known !== undefined && this.#fleetOf(fleet)?.isSettled(version, known.round) === true ? known : undefined;
    };
    return {
      offer: () => {
        const own = this.#fleetOf(fleet);
        const offer = own?.offerFor(pod);
        if (own === undefined || offer === undefined) return undefined;
        const known = rejections.find(offer.version);
        // Asked once more it would say the same, and never be sent what is in force: what it named
        // may be in every offer, because others accept that.
        const isKnown = known !== undefined && (known.round === own.round || own.isSettled(offer.version, known.round));
        return isKnown ? undefined : offer;
      },
      rejectionOf,
      accepted: (sent) => {
        rejections.forget(sent.snapshot.version);
        stream.loaded = sent.names === undefined ? sent.snapshot.version : undefined;
        if (this.#fleetOf(fleet)?.accept({ ...sent, pod }) === true) this.#tell();
      },
      rejected: (sent, message) => {
        const atMs = this.#clock();
        const own = this.#fleetOf(fleet);
        // Of a part nothing follows for the whole.
        if (sent.names === undefined && stream.loaded === sent.snapshot.version) stream.loaded = undefined;
        if (sent.names === undefined) rejections.note(sent.snapshot.version, { message, atMs, round: own?.round ?? 0 });
        if (own?.reject({ ...sent, pod }, message, atMs) === true) this.#tell();
      },
      left: () => {
        this.#open.delete(pod);
        this.#membersChanged();
        // One fewer that rejects, so that others may have to be asked now.
        if (this.#fleetOf(fleet)?.hasRejections(pod) === true) this.#tell();
      },
    };
  }

  #createFleet(fleet: string, wanted: Snapshot, origin?: FleetQuarantine): FleetQuarantine {
    const isMember = (stream: OpenStream): boolean =>
      (this.#fleets.has(stream.fleet) ? stream.fleet : OTHER_FLEETS) === fleet;
    const isConnected = (pod: string): boolean => {
      const stream = this.#open.get(pod);
      return stream !== undefined && isMember(stream);
    };
    const isLoaded = (version: string): boolean =>
      this.#open.values().some((stream) => stream.loaded === version && isMember(stream));
    return new FleetQuarantine(wanted, { snapshotMaxBytes: this.#snapshotMaxBytes, isConnected, isLoaded }, origin);
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

  #fleetOf(fleet: string): FleetQuarantine | undefined {
    return this.#fleets.get(fleet) ?? this.#fleets.get(OTHER_FLEETS);
  }

  /**
   * Streams of one node id from one host are told apart by a number; a pod that comes back takes
   * the number that it left, and so what it said.
   */
  #nameOf(nodeId: string, peer: string): string {
    const host = peer.slice(0, Math.max(0, peer.lastIndexOf(":")));
    for (let number = 1; ; number += 1) {
      const name = `${nodeId}\n${host}\n${number}`;
      if (!this.#open.has(name)) return name;
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
