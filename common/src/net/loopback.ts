// The addresses of the machine itself: those at which all of it is reached, and those by which it reaches itself.
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";

import { unmapAddress } from "./host-port.ts";

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

/**
 * Whether a peer's address is that of this machine itself, also where IPv6 carries it. Other
 * addresses of 127.0.0.0/8 are not: Istio's sidecar passes connections of other pods on from
 * 127.0.0.6, without a header.
 */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && ["127.0.0.1", "::1"].includes(unmapAddress(address));
}

/**
 * Whether a Host header names this machine as only this machine does. A web page can have its own
 * name lead to this machine, and then asks as if it were its own server. HTTP/1.0 has no header.
 */
export function isLocalName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || isLoopback(name);
}
