// The last part to start and the first to stop: the process becomes healthy with it, and callers
// move away before the parts that serve them stop.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { Health } from "../health/health.ts";
import type { Transport } from "../transport/transport.ts";

/** Dependencies of the gate. `isDrainWanted` is called at the stop. */
export interface TrafficGateDeps {
  readonly transports: readonly Transport[];
  readonly health: Health;
  readonly isDrainWanted: () => boolean;
  /** Resolves after so many milliseconds, or rejects when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly log: Log;
}

/** SHUTDOWN_DRAIN and SHUTDOWN_GRACE. */
export interface TrafficGateOptions {
  readonly drainMs: number;
  readonly graceMs: number;
}

/** Creates the gate. */
export function createTrafficGate(deps: TrafficGateDeps, options: TrafficGateOptions): Part {
  const { transports, health, isDrainWanted, sleep, log } = deps;
  return {
    name: "traffic gate",
    start() {
      health.set("start", true);
    },
    async stop() {
      // Unhealthy first: load balancers notice while the listeners are still open.
      health.set("signal", false);
      if (isDrainWanted() && options.drainMs > 0) {
        log.info("Draining: reporting unhealthy, listeners stay open", { forMs: options.drainMs });
        await sleep(options.drainMs);
      }
      log.info("Closing the listeners, running calls may finish", { withinMs: options.graceMs });
      const drained = Promise.all(transports.map((transport) => transport.drain())).then(() => true);
      const timeout = new AbortController();
      const isDrained = await Promise.race([drained, sleep(options.graceMs, timeout.signal).then(() => false)]);
      timeout.abort();
      if (!isDrained)
        log.warn("Closing the connections of calls that did not finish in time", { afterMs: options.graceMs });
    },
  };
}
