// Says where each listener listens, as soon as it does.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { formatAddress, type ListenAddress } from "@weir/common/net/listen";

/** A part that listens somewhere once it has started. */
export interface Listener extends Part {
  start?(): void | Promise<void>;
  /** Where it listens; undefined before it does. */
  address(): string | ListenAddress | undefined;
}

/**
 * The listener as a part that tells its address. The address stands in the message, as in the
 * reference's line, which scripts look for.
 */
export function announced(listener: Listener, what: string, log: Log): Part {
  return {
    name: listener.name,
    async start() {
      await listener.start?.();
      const address = listener.address();
      log.info(
        `Listening for ${what} on ${typeof address === "object" ? formatAddress(address) : (address ?? "no address")}`,
      );
    },
    stop: () => listener.stop?.(),
  };
}
