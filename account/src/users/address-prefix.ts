// The network of a caller's address: the unit that limits and log lines count by, and the coarser one
// that takes turns in the hash queue.
import { isIPv4, isIPv6 } from "node:net";

/** Groups of 16 bits in an IPv6 address, and those of its /64: the network of one customer. */
const IPV6_GROUPS = 8;
const PREFIX_GROUPS = 4;
const IPV6_SUFFIX = "::/64";

/** Groups of 16 bits in a /48: the networks of one site. */
const QUEUE_GROUPS = 3;

/** `::ffff:0:0/96`, an IPv4 address written as an IPv6 one (RFC 4291 section 2.5.5.2). */
const MAPPED_IPV4 = ["0", "0", "0", "0", "0", "ffff"];

/** The prefix of callers without an address, such as those of a Unix domain socket. */
const UNKNOWN_PREFIX = "unknown";

/**
 * The prefix of the first candidate that is an address: IPv4 in full, also when written as IPv6, and
 * the /64 of IPv6, as `2001:db8:0:1::/64`. A proxy may forward any text, so the address of the
 * connection is the last candidate.
 */
export function addressPrefix(...candidates: readonly (string | undefined)[]): string {
  for (const candidate of candidates) {
    const prefix = candidate === undefined ? undefined : prefixOf(candidate);
    if (prefix !== undefined) return prefix;
  }
  return UNKNOWN_PREFIX;
}

/**
 * The group of a prefix in the hash queue: the /48 of an IPv6 prefix, as `2001:db8:0::/48`, and any
 * other prefix as it is. One home line has up to 256 networks of /64, and would have as many turns.
 */
export function queueGroup(prefix: string): string {
  if (!prefix.endsWith(IPV6_SUFFIX)) return prefix;
  return `${prefix.split(":", QUEUE_GROUPS).join(":")}::/48`;
}

function prefixOf(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const [address = ""] = text.split("%"); // The zone is the name of an interface of this machine.
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address);
  if (MAPPED_IPV4.every((group, index) => groups[index] === group)) return ipv4Of(groups.slice(MAPPED_IPV4.length));
  return `${groups.slice(0, PREFIX_GROUPS).join(":")}${IPV6_SUFFIX}`;
}

/** The eight groups without leading zeros, in lower case. */
function groupsOf(address: string): readonly string[] {
  // The URL parser writes every form of an address in the same one: hexadecimal, with "::" at most once.
  const [before = [], after = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => (half === "" ? [] : half.split(":")));
  const zeros = Array.from({ length: IPV6_GROUPS - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after];
}

function ipv4Of(groups: readonly string[]): string {
  return groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join(".");
}
