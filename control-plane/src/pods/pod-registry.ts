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
  readonly #pods = new Map<symbol, PodState>();
  readonly #listeners = new Set<(change: PodChange) => void>();

  /** `clock` gives milliseconds since the epoch. */
  constructor({ clock }: { readonly clock: () => number }) {
    this.#clock = clock;
  }

  /** Adds a pod; its stream reports to what this returns. */
  connected(pod: ConnectedPod): PodReport {
    const nothingSent = { sent: undefined, isAnswered: true, accepted: undefined, rejected: undefined };
    const initial = { ...pod, connectedMs: this.#clock(), ...nothingSent };
    const id = Symbol(pod.nodeId);
    this.#pods.set(id, initial);
    this.#notify({ kind: "connected", before: undefined, pod: initial });
    return new PodReport(this.#clock, (kind, changed) => {
      const before = this.#pods.get(id);
      // A report after the end of the stream is late, not wrong.
      if (before === undefined) return;
      const difference = changed(before);
      if (difference === undefined) return;
      const after = { ...before, ...difference };
      if (kind === "left") this.#pods.delete(id);
      else this.#pods.set(id, after);
      this.#notify({ kind, before, pod: after });
    });
  }

  /** Every connected pod, by node id and then by age of its stream. */
  list(): readonly PodState[] {
    // Sorting is stable, and a map keeps the order of insertion.
    return [...this.#pods.values()].toSorted((left, right) => compareCodeUnits(left.nodeId, right.nodeId));
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

type Apply = (kind: PodChange["kind"], changed: (before: PodState) => Partial<PodState> | undefined) => void;

/** Takes the reports of one stream. */
export class PodReport {
  readonly #clock: () => number;
  readonly #apply: Apply;

  /** `apply` changes the entry of the pod, if the stream has not ended. */
  constructor(clock: () => number, apply: Apply) {
    this.#clock = clock;
    this.#apply = apply;
  }

  /** The pod is being sent this version. */
  sent(version: string): void {
    this.#apply("sent", () => ({ sent: this.#event(version), isAnswered: false }));
  }

  /** The pod has ACKed this version, which ends earlier NACKs. */
  accepted(version: string): void {
    this.#apply("accepted", () => ({ accepted: this.#event(version), rejected: undefined, isAnswered: true }));
  }

  /** The pod has NACKed this version; the one that it ACKed before stays active there. */
  rejected(version: string, message: string): void {
    this.#apply("rejected", () => ({ rejected: { ...this.#event(version), message }, isAnswered: true }));
  }

  /** The pod, which has answered everything, is not sent this version: it NACKed it before. */
  withheld(version: string, { message, atMs }: { readonly message: string; readonly atMs: number }): void {
    this.#apply("withheld", () => ({ rejected: { version, atMs, message } }));
  }

  /** This version changes nothing that the pod subscribes to: its last answer holds for it too. */
  unaffected(version: string): void {
    this.#apply("unaffected", ({ sent, accepted, rejected }) => {
      if (sent === undefined) return undefined;
      const isLast = (event: VersionEvent | undefined): boolean => event?.version === sent.version;
      return {
        sent: { ...sent, version },
        accepted: accepted && isLast(accepted) ? { ...accepted, version } : accepted,
        rejected: rejected && isLast(rejected) ? { ...rejected, version } : rejected,
      };
    });
  }

  /** The stream has ended; the entry goes. */
  left(): void {
    this.#apply("left", () => ({}));
  }

  #event(version: string): VersionEvent {
    return { version, atMs: this.#clock() };
  }
}
