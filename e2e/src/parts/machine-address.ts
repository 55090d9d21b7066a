// Finds an address of this machine that an EndpointSlice may have: the API server takes none of the
// loopback network 127.0.0.0/8 and no link-local one.
import { networkInterfaces } from "node:os";

const REFUSED = /^(127|169\.254)\./;

/** The first such IPv4 address; throws when the machine has none. */
export function machineAddress(interfaces = networkInterfaces()): string {
  const all = Object.values(interfaces).flatMap((addresses = []) => addresses);
  const usable = all.find(({ family, address }) => family === "IPv4" && !REFUSED.test(address));
  if (usable !== undefined) return usable.address;
  throw new Error(
    "Cannot make endpoints of the control plane: the API server takes no loopback address, and this machine has no other IPv4 address; with `ip addr add 10.88.0.1/32 dev lo` it has one",
  );
}
