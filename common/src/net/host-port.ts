// Reads addresses of hosts: `host:port`, and IPv4 addresses that are written as IPv6.

/** Highest TCP port. */
export const PORT_MAX = 65_535;

const HOST_PORT = /^(?=.)(?:\[(?<six>[0-9a-f:.%]+)\]|(?<host>[^:[\]/@\s]+))?(?::(?<port>\d{1,5}))?$/i;

/** How a listener for both families shows a client of IPv4 (RFC 4291, section 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.)/i;

/** The parts of an address that are there. */
export interface HostPort {
  /** A name or an address, without brackets. */
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** The parts of `host:port`, `[::1]:port`, `:port` or `host`; undefined when the text is none of them. */
export function parseHostPort(text: string): HostPort | undefined {
  const groups = HOST_PORT.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const port = groups["port"] === undefined ? undefined : Number(groups["port"]);
  return port !== undefined && port > PORT_MAX ? undefined : { host: groups["six"] ?? groups["host"], port };
}

/** The IPv4 address `192.0.2.1` of `::ffff:192.0.2.1`; any other text as it is. */
export function unmapAddress(address: string): string {
  return address.replace(MAPPED, "");
}
