// The part that stands behind all others: when it starts, the service serves and is healthy; when
// it stops, callers are sent away before anything that they need goes.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { Health } from "./health/health.ts";
import type { Transport } from "./transport/transport.ts";

/** What serving consists of. `isDrainWanted` is asked at the stop. */
export interface ServingDeps {
  readonly transports: readonly Transport[];
  readonly health: Health;
  readonly isDrainWanted: () => boolean;
  /** Resolves after so many milliseconds, or rejects when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly log: Log;
}

/** SHUTDOWN_DRAIN and SHUTDOWN_GRACE. */
export interface ServingOptions {
  readonly drainMs: number;
  readonly graceMs: number;
}

/** Makes the part. */
export function createServing(deps: ServingDeps, options: ServingOptions): Part {
  const { transports, health, isDrainWanted, sleep, log } = deps;
  return {
    name: "serving",
    start() {
      health.set("start", true);
    },
    async stop() {
      // Unhealthy first: while the listeners are still open, load balancers look and go elsewhere.
      health.set("signal", false);
      if (isDrainWanted() && options.drainMs > 0) {
        log.info("draining: unhealthy from now on, the listeners stay open a while", { forMs: options.drainMs });
        await sleep(options.drainMs);
      }
      log.info("closing the listeners, running calls may finish", { withinMs: options.graceMs });
      const drained = Promise.all(transports.map((transport) => transport.drain())).then(() => true);
      const timeout = new AbortController();
      const isDrained = await Promise.race([drained, sleep(options.graceMs, timeout.signal).then(() => false)]);
      timeout.abort();
      if (!isDrained)
        log.warn("some calls did not finish in time, their connections are closed", { afterMs: options.graceMs });
    },
  };
}
