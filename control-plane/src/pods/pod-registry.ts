// The connected pods and what each answered, one entry per stream: two pods may have the same node
// id. In memory, for this replica, as long as the stream lasts.
import { Listeners } from "@weir/common/lifecycle/listeners";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { Revision } from "../snapshot/revision.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { revisionIn, type ResourceNack, type SentRevisions } from "./pod-revisions.ts";

/** A pod that opened a stream. */
export interface ConnectedPod {
  readonly nodeId: string;
  readonly fleet: string;
  readonly namespace: string;
  readonly pod: string;
  /** Address and port of the other end of the connection. */
  readonly peer: string;
}

/** A version, and when the pod got it or answered it. Milliseconds since the epoch. */
export interface VersionEvent {
  readonly version: string;
  readonly atMs: number;
}

export interface PodState extends ConnectedPod {
  readonly connectedMs: number;
  /** The version that it was sent last. */
  readonly sent: VersionEvent | undefined;
  /** Its answer to that; undefined: none yet, or it was sent nothing. */
  readonly lastAnswer: "ack" | "nack" | undefined;
  /** The version that it ACKed last. */
  readonly accepted: VersionEvent | undefined;
  /** The response that it ACKed last: the revisions that it serves. */
  readonly acked: SentRevisions | undefined;
  /** The version that it NACKed last, while it lacks something of its fleet's snapshot because of a NACK. */
  readonly rejected: (VersionEvent & { readonly message: string }) | undefined;
  /** Its NACKs by name of the resource, of revisions that may be sent again. */
  readonly nacks: ReadonlyMap<string, ResourceNack>;
  /** The snapshot that it should have: its fleet's, or one with earlier revisions for what it NACKed. */
  readonly choice: Snapshot | undefined;
}

export interface PodChange {
  readonly kind: "connected" | "sent" | "accepted" | "rejected" | "chosen" | "unaffected" | "left";
  /** The state before; undefined when the pod has just connected. */
  readonly before: PodState | undefined;
  /** The state now; the last one for a pod that has left. */
  readonly pod: PodState;
}

/** All pods of this replica. */
export class PodRegistry {
  readonly #clock: () => number;
  readonly #pods = new Set<PodReport>();
  readonly #listeners = new Listeners<PodChange>();

  /** `clock` gives milliseconds since the epoch. */
  constructor({ clock }: { readonly clock: () => number }) {
    this.#clock = clock;
  }

  /** Adds a pod; its stream reports to what this returns. */
  connected(pod: ConnectedPod): PodReport {
    const report = new PodReport(pod, this.#clock, (change) => {
      if (change.kind === "left") this.#pods.delete(report);
      this.#listeners.notify(change);
    });
    this.#pods.add(report);
    this.#listeners.notify({ kind: "connected", before: undefined, pod: report.state });
    return report;
  }

  /** Takes the reports of a stream that is no pod's: no list, status or metric has it. */
  unlisted(pod: ConnectedPod): PodReport {
    return new PodReport(pod, this.#clock, () => undefined);
  }

  /** Every connected pod, by node id and then by age of its stream. */
  list(): readonly PodState[] {
    // Sorting is stable, and a set keeps the order of insertion.
    const states = Array.from(this.#pods, ({ state }) => state);
    return states.toSorted((left, right) => compareCodeUnits(left.nodeId, right.nodeId));
  }

  /** Returns whether the last ACK of a pod that is connected now is for a response with a revision. */
  loadedRevisions(): (revision: Revision) => boolean {
    const acked = Array.from(this.#pods, ({ state }) => state.acked);
    // Most pods share a snapshot.
    const distinct = new Map(acked.map((sent) => [sent?.names === undefined ? sent?.snapshot : sent, sent]));
    return ({ name, digest }) => distinct.values().some((sent) => revisionIn(sent, name)?.digest === digest);
  }

  /** Calls the listener after every change; returns the function that ends this. */
  onChanged(listener: (change: PodChange) => void): () => void {
    return this.#listeners.add(listener);
  }
}

/** Takes the reports of one stream; a report after its end has no effect. */
export class PodReport {
  readonly #clock: () => number;
  readonly #changed: (change: PodChange) => void;
  #state: PodState;
  #hasLeft = false;

  constructor(pod: ConnectedPod, clock: () => number, changed: (change: PodChange) => void) {
    this.#clock = clock;
    this.#changed = changed;
    this.#state = {
      ...pod,
      connectedMs: clock(),
      sent: undefined,
      lastAnswer: undefined,
      accepted: undefined,
      acked: undefined,
      rejected: undefined,
      nacks: new Map(),
      choice: undefined,
    };
  }

  get state(): PodState {
    return this.#state;
  }

  /** The pod is being sent this version. */
  sent(version: string): void {
    this.#change("sent", { sent: this.#event(version), lastAnswer: undefined });
  }

  /** The pod has ACKed this response, and serves it. */
  accepted(sent: SentRevisions): void {
    const accepted = this.#event(sent.snapshot.version);
    const rejected = hasEarlier(this.#state.choice) ? this.#state.rejected : undefined;
    this.#change("accepted", { accepted, acked: sent, rejected, lastAnswer: "ack" });
  }

  /** The pod has NACKed this version; the one that it ACKed before stays active there. */
  rejected(version: string, message: string, nacks: ReadonlyMap<string, ResourceNack>): void {
    this.#change("rejected", {
      rejected: { ...this.#event(version), message },
      nacks: new Map(nacks),
      lastAnswer: "nack",
    });
  }

  /** The pod should have this snapshot. */
  chosen(choice: Snapshot, nacks: ReadonlyMap<string, ResourceNack>): void {
    const { choice: before, lastAnswer, accepted, rejected: known } = this.#state;
    // The revisions that it NACKed may be gone, so that it lacks nothing without another answer.
    const isComplete = lastAnswer !== undefined && accepted?.version === choice.version && !hasEarlier(choice);
    const rejected = isComplete ? undefined : known;
    if (choice === before && rejected === known) return;
    this.#change("chosen", { choice, rejected, nacks: new Map(nacks) });
  }

  /** This version changes nothing that the pod subscribes to: its last answer holds for it too. */
  unaffected(version: string): void {
    const { sent, accepted, rejected } = this.#state;
    if (sent === undefined) return;
    this.#change("unaffected", {
      sent: { ...sent, version },
      accepted: accepted?.version === sent.version ? { ...accepted, version } : accepted,
      rejected: rejected?.version === sent.version ? { ...rejected, version } : rejected,
    });
  }

  /** The stream has ended; the entry goes. */
  left(): void {
    this.#change("left", {});
  }

  #change(kind: PodChange["kind"], difference: Partial<PodState>): void {
    if (this.#hasLeft) return;
    this.#hasLeft = kind === "left";
    const before = this.#state;
    this.#state = { ...before, ...difference };
    this.#changed({ kind, before, pod: this.#state });
  }

  #event(version: string): VersionEvent {
    return { version, atMs: this.#clock() };
  }
}

function hasEarlier(choice: Snapshot | undefined): boolean {
  return choice !== undefined && choice.earlierRevisions.size > 0;
}
