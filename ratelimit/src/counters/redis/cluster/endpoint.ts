// Parses the host and port of a node, as the cluster reports them in its list of slots and in
// redirections.
import { PORT_MAX } from "@weir/common/net/host-port";

/** Longest host name: RFC 1035, section 2.3.4. */
const HOST_MAX_LENGTH = 255;

/** The characters of host names and IP addresses, including the colon of version 6. */
const HOST = /^[\w.:%-]+$/;

/** Host and port of a node. */
export interface ClusterEndpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * The endpoint of `host:port`; the host ends at the last colon, because an address of version 6 has
 * no brackets here.
 */
export function parseEndpoint(text: string, askedHost: string): ClusterEndpoint | undefined {
  const at = text.lastIndexOf(":");
  if (at === -1) return undefined;
  const port = text.slice(at + 1);
  return /^\d{1,5}$/.test(port) ? createEndpoint(text.slice(0, at), Number(port), askedHost) : undefined;
}

/**
 * The endpoint, or undefined if host and port are invalid. A node that does not know its own
 * address leaves the host empty: then it is the host that was asked (Redis documentation, CLUSTER
 * SLOTS). A node whose name is not known yet has "?".
 */
export function createEndpoint(host: unknown, port: unknown, askedHost: string): ClusterEndpoint | undefined {
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > PORT_MAX) return undefined;
  if (host === null || host === undefined || host === "") return { host: askedHost, port };
  if (typeof host !== "string" || host.length > HOST_MAX_LENGTH) return undefined;
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  return HOST.test(bare) ? { host: bare, port } : undefined;
}
