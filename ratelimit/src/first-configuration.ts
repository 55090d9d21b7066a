// The wait for the first configuration: what starts behind this part starts when rules are in
// force.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

/** How long the wait lasts before it is told, and how often it is told again, in milliseconds. */
const TOLD_EVERY_MS = 10_000;

/** A part whose start takes until `first` resolves; a stop ends it. */
export function createFirstConfigurationWait(deps: { readonly first: Promise<void>; readonly log: Log }): Part {
  const stopped = Promise.withResolvers<void>();
  return {
    name: "first configuration",
    async start() {
      const timer = setInterval(() => {
        deps.log.warn(
          "still waiting for the first configuration; FORCE_START_WITHOUT_INITIAL_CONFIG=true would start without one",
        );
      }, TOLD_EVERY_MS);
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
