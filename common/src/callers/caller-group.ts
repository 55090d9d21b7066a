// The networks of a caller's address: who shares a limit, a turn in a queue, or a part of what is scarce.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address as proxies write it: with a port, and IPv6 in brackets then. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/** The networks of one caller. */
export interface CallerGroup {
  /** IPv4 in full or the /64 of IPv6, such as `2001:db8:0:1::/64`: one network at one place. */
  readonly address: string;
  /** IPv4 in full or the /56 of IPv6: what one customer of a provider has. */
  readonly customer: string;
  /** From wide to narrow: /24 and address of IPv4, /48, /56 and /64 of IPv6. */
  readonly networks: readonly string[];
}

/** The group of callers without an address, such as those of a Unix domain socket. */
const UNKNOWN: CallerGroup = { address: "unknown", customer: "unknown", networks: ["unknown"] };

/**
 * The group of the first candidate that is an address, with or without a port. An IPv4 address that is
 * written as IPv6 (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) counts as what it is. A proxy may forward
 * any text, so the address of the connection is the last candidate.
 */
export function callerGroup(...candidates: readonly (string | undefined)[]): CallerGroup {
  const address = candidates.map((text) => text?.replace(WITH_PORT, "$1$2")).find((text) => isIP(text ?? "") !== 0);
  if (address === undefined) return UNKNOWN;
  const parsed = ipaddr.process(address.replace(/%.*/s, "")); // The zone is the name of an interface here.
  if (parsed.kind() === "ipv4") {
    const text = parsed.toString();
    return { address: text, customer: text, networks: [`${text.slice(0, text.lastIndexOf("."))}.0/24`, text] };
  }
  const network = (bits: number): string =>
    `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${bits}`).toString()}/${bits}`;
  const [site, customer, own] = [network(48), network(56), network(64)];
  return { address: own, customer, networks: [site, customer, own] };
}

/** The header X-Forwarded-For without the ports that some proxies write behind addresses. */
export function withoutPorts(forwardedFor: string): string {
  return forwardedFor
    .split(",")
    .map((entry) => entry.trim().replace(WITH_PORT, "$1$2"))
    .join(", ");
}
