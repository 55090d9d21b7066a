// Delays the parts that start after it until a first configuration is active.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

/** Time between two warnings while the wait lasts, in milliseconds. */
const WARNING_INTERVAL_MS = 10_000;

/** A part whose start takes until `first` resolves; a stop ends it. */
export function createFirstConfigurationWait(deps: { readonly first: Promise<void>; readonly log: Log }): Part {
  const stopped = Promise.withResolvers<void>();
  return {
    name: "first configuration",
    async start() {
      const timer = setInterval(() => {
        deps.log.warn(
          "Waiting for the first configuration; FORCE_START_WITHOUT_INITIAL_CONFIG=true starts without one",
        );
      }, WARNING_INTERVAL_MS);
      try {
        await Promise.race([deps.first, stopped.promise]);
      } finally {
        clearInterval(timer);
      }
    },
    stop() {
      stopped.resolve();
    },
  };
}
