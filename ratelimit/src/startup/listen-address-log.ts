// Logs the address of each listener when it starts to listen.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { formatAddress, type ListenAddress } from "@weir/common/net/listen";

/** A part that listens on an address after its start. */
export interface Listener extends Part {
  /** The address; undefined before the start. */
  address(): string | ListenAddress | undefined;
}

/**
 * The listener as a part that logs its address. The address is in the message, as in the line of
 * envoyproxy/ratelimit, which scripts search for.
 */
export function withAddressLog(listener: Listener, what: string, log: Log): Part {
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
