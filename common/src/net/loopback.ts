// The addresses and names by which a machine reaches itself.
import { unmapAddress } from "./host-port.ts";

/**
 * Returns true if a peer's address is that of this machine itself, also where IPv6 carries it. Other
 * addresses of 127.0.0.0/8 are not: Istio's sidecar passes connections of other pods on from
 * 127.0.0.6, without a header.
 */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && ["127.0.0.1", "::1"].includes(unmapAddress(address));
}

/**
 * Returns true if a Host header names this machine as only this machine does. A web page can have its
 * own name lead to this machine, and then asks as if it were its own server. HTTP/1.0 has no header.
 */
export function isLocalName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || isLoopback(name);
}
