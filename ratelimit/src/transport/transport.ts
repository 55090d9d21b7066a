// What every way into the service is: it takes requests off its wire, hands them to the decider,
// and puts answers on the wire. Each has a folder of its own; transport.suite.ts says in tests what
// they all must do.
import type { Part } from "@weir/common/lifecycle/lifecycle";

/** Where a transport listens. */
export type ListenerAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/**
 * A way into the service. `start` opens the listener; `stop` closes every connection at once,
 * whatever runs.
 */
export interface Transport extends Part {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Where it listens, once started: "127.0.0.1:8081", "unix:/run/weir.sock". */
  address(): string | undefined;
  /**
   * Takes no new connections and no new calls, and resolves when the running calls are answered.
   * Never rejects; `stop` ends the wait.
   */
  drain(): Promise<void>;
}
