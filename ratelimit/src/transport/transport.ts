// The interface of transports, each with a folder of its own. A transport reads requests from its
// wire, passes them to the decider, and writes the answers. transport.suite.ts tests them all.
import type { Part } from "@weir/common/lifecycle/lifecycle";

/** The address on which a transport listens. */
export type ListenerAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/**
 * A transport. `start` opens the listener; `stop` closes every connection immediately, also with
 * running calls.
 */
export interface Transport extends Part {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The listen address: "127.0.0.1:8081", "unix:/run/weir.sock"; undefined before start. */
  address(): string | undefined;
  /**
   * Takes no new connections, and no new calls but those that clients sent before they knew.
   * Resolves when the running calls are answered. Never rejects; `stop` ends the wait.
   */
  drain(): Promise<void>;
}
