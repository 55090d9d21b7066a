// The connected pods and what each answered, one entry per stream: two pods may have the same node
// id. In memory, for this replica, as long as the stream lasts.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

/** A pod that opened a stream. */
export interface ConnectedPod {
  readonly nodeId: string;
  readonly fleet: string;
  readonly namespace: string;
  readonly pod: string;
  /** Address of the connection. */
  readonly peer: string;
}

/** A version, and when the pod got it or answered it. Milliseconds since the epoch. */
export interface VersionEvent {
  readonly version: string;
  readonly atMs: number;
}

/** The state of a pod. */
export interface PodState extends ConnectedPod {
  readonly connectedMs: number;
  /** The version that it was sent last. */
  readonly sent: VersionEvent | undefined;
  /** Whether it has ACKed or NACKed that; true also while it was sent nothing. */
  readonly isAnswered: boolean;
  /** The version that it ACKed last. */
  readonly accepted: VersionEvent | undefined;
  /**
   * The version that it NACKed last, if it has ACKed nothing since; or the version that is withheld
   * because of an earlier NACK, whatever it has ACKed since.
   */
  readonly rejected: (VersionEvent & { readonly message: string }) | undefined;
}

/** A change of a pod. */
export interface PodChange {
  readonly kind: "connected" | "sent" | "accepted" | "rejected" | "withheld" | "unaffected" | "left";
  /** The state before; undefined when the pod has just connected. */
  readonly before: PodState | undefined;
  /** The state now; the last one for a pod that has left. */
  readonly pod: PodState;
}

/** All pods of this replica. */
export class PodRegistry {
  readonly #clock: () => number;
  readonly #pods = new Set<PodReport>();
  readonly #listeners = new Set<(change: PodChange) => void>();

  /** `clock` gives milliseconds since the epoch. */
  constructor({ clock }: { readonly clock: () => number }) {
    this.#clock = clock;
  }

  /** Adds a pod; its stream reports to what this returns. */
  connected(pod: ConnectedPod): PodReport {
    const report = new PodReport(pod, this.#clock, (change) => {
      if (change.kind === "left") this.#pods.delete(report);
      this.#notify(change);
    });
    this.#pods.add(report);
    this.#notify({ kind: "connected", before: undefined, pod: report.state });
    return report;
  }

  /** Every connected pod, by node id and then by age of its stream. */
  list(): readonly PodState[] {
    // Sorting is stable, and a set keeps the order of insertion.
    const states = Array.from(this.#pods, ({ state }) => state);
    return states.toSorted((left, right) => compareCodeUnits(left.nodeId, right.nodeId));
  }

  /** Calls the listener after every change; returns the function that ends this. */
  onChanged(listener: (change: PodChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #notify(change: PodChange): void {
    for (const listener of [...this.#listeners]) listener(change);
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
    const nothingSent = { sent: undefined, isAnswered: true, accepted: undefined, rejected: undefined };
    this.#state = { ...pod, connectedMs: clock(), ...nothingSent };
  }

  /** The state of the pod. */
  get state(): PodState {
    return this.#state;
  }

  /** The pod is being sent this version. */
  sent(version: string): void {
    this.#change("sent", { sent: this.#event(version), isAnswered: false });
  }

  /** The pod has ACKed this version, which ends earlier NACKs. */
  accepted(version: string): void {
    this.#change("accepted", { accepted: this.#event(version), rejected: undefined, isAnswered: true });
  }

  /** The pod has NACKed this version; the one that it ACKed before stays active there. */
  rejected(version: string, message: string): void {
    this.#change("rejected", { rejected: { ...this.#event(version), message }, isAnswered: true });
  }

  /** The pod, which has answered everything, is not sent this version: it NACKed it before. */
  withheld(version: string, { message, atMs }: { readonly message: string; readonly atMs: number }): void {
    this.#change("withheld", { rejected: { version, atMs, message } });
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
