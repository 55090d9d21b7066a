// What every connected pod has made of what it was sent. One entry for each stream: two pods may
// say that they have the same node id. Kept in memory, for this replica, as long as the stream
// lasts.

import { compareCodeUnits } from "@weir/common/order/code-unit-order";

/** Who connected. */
export interface ConnectedPod {
  readonly nodeId: string;
  readonly fleet: string;
  readonly namespace: string;
  readonly pod: string;
  /** Address of the connection. */
  readonly peer: string;
}

/** A version, and when the pod got it or answered. Milliseconds since the epoch. */
export interface VersionEvent {
  readonly version: string;
  readonly atMs: number;
}

/** A pod as it stands. */
export interface PodState extends ConnectedPod {
  readonly connectedMs: number;
  /** What it was sent last. */
  readonly sent: VersionEvent | undefined;
  /** Whether it has accepted or rejected that; true also while it was sent nothing. */
  readonly isAnswered: boolean;
  /** What it accepted last. */
  readonly accepted: VersionEvent | undefined;
  /**
   * What it rejected last, if it has accepted nothing since; or what is kept from it because it
   * rejected that earlier, whatever it has accepted since.
   */
  readonly rejected: (VersionEvent & { readonly message: string }) | undefined;
}

/** Where a stream reports to. */
export interface PodReport {
  /** The pod is being sent this version. */
  sent(version: string): void;
  /** The pod has accepted this version; what it rejected before is of the past. */
  accepted(version: string): void;
  /**
   * The pod has rejected this version, with its reason; what it accepted before stays in force
   * there.
   */
  rejected(version: string, message: string): void;
  /**
   * The pod is not sent this version, because it rejected it at that time, with its reason. It has
   * answered all that it was sent.
   */
  withheld(version: string, rejection: { readonly message: string; readonly atMs: number }): void;
  /**
   * Nothing of what the pod wants is different in this version: what it said of the one before
   * holds for it.
   */
  unaffected(version: string): void;
  /** The stream has ended; the entry goes. */
  left(): void;
}

/** Something that has happened to a pod. */
export interface PodChange {
  readonly kind: "connected" | "sent" | "accepted" | "rejected" | "withheld" | "unaffected" | "left";
  /** How the pod stood before; undefined when it has just connected. */
  readonly before: PodState | undefined;
  /** How the pod stands now; once it has left, how it stood in the end. */
  readonly pod: PodState;
}

/** All pods of this replica. */
export interface PodRegistry {
  /** Adds a pod; its stream reports to what this returns. */
  connected(pod: ConnectedPod): PodReport;
  /** Every connected pod, by node id and then by age of its stream. */
  list(): readonly PodState[];
  /** Calls the listener after every change; returns the function that ends this. */
  onChanged(listener: (change: PodChange) => void): () => void;
}

/** Makes an empty registry; `clock` gives milliseconds since the epoch. */
export function createPodRegistry(deps: { readonly clock: () => number }): PodRegistry {
  const entries = new Map<symbol, PodState>();
  const listeners = new Set<(change: PodChange) => void>();
  const tell = (change: PodChange): void => {
    for (const listener of [...listeners]) listener(change);
  };
  return {
    connected: (pod) => {
      const id = Symbol(pod.nodeId);
      const initial = {
        ...pod,
        connectedMs: deps.clock(),
        sent: undefined,
        isAnswered: true,
        accepted: undefined,
        rejected: undefined,
      };
      entries.set(id, initial);
      tell({ kind: "connected", before: undefined, pod: initial });
      const change = (kind: PodChange["kind"], difference: Partial<PodState>): void => {
        const before = entries.get(id);
        // A report after the end of the stream is late, not wrong: there is nobody left to tell of.
        if (before === undefined) return;
        const after = { ...before, ...difference };
        entries.set(id, after);
        tell({ kind, before, pod: after });
      };
      const at = (version: string): VersionEvent => ({ version, atMs: deps.clock() });
      return {
        sent: (version) => change("sent", { sent: at(version), isAnswered: false }),
        accepted: (version) => change("accepted", { accepted: at(version), rejected: undefined, isAnswered: true }),
        rejected: (version, message) => change("rejected", { rejected: { ...at(version), message }, isAnswered: true }),
        withheld: (version, { message, atMs }) => change("withheld", { rejected: { version, atMs, message } }),
        unaffected: (version) => {
          const { sent, accepted, rejected } = entries.get(id) ?? initial;
          if (sent === undefined) return;
          change("unaffected", {
            sent: { ...sent, version },
            accepted: accepted?.version === sent.version ? { ...accepted, version } : accepted,
            rejected: rejected?.version === sent.version ? { ...rejected, version } : rejected,
          });
        },
        left: () => {
          const before = entries.get(id);
          if (before === undefined) return;
          entries.delete(id);
          tell({ kind: "left", before, pod: before });
        },
      };
    },
    // Sorting is stable, and a map remembers the order in which streams came.
    list: () => [...entries.values()].toSorted((left, right) => compareCodeUnits(left.nodeId, right.nodeId)),
    onChanged: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
