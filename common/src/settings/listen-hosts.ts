// The addresses of listeners whose address is not set.
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";

/**
 * The address that stands for every address of this machine: `::` where it has IPv6, where a listener takes IPv4,
 * too (RFC 4291, section 2.5.5.2), and otherwise `0.0.0.0`.
 */
export function everyHost(): string {
  return ownAddresses().some(({ family }) => family === "IPv6") ? "::" : "0.0.0.0";
}

/** The loopback addresses of this machine: 127.0.0.1, and ::1 where it has IPv6. */
export function loopbackHosts(): readonly [string, ...string[]] {
  return ownAddresses().some(({ address }) => address === "::1") ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
}

function ownAddresses(): readonly NetworkInterfaceInfo[] {
  return Object.values(networkInterfaces()).flatMap((each) => each ?? []);
}
