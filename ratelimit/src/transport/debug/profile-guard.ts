// Decides which peers get profiles. Profiles hold secrets, so by default only peers on the same
// machine do.
import type { IncomingMessage } from "node:http";

/** Headers that proxies add: the peer is then the proxy, not the client. */
const PROXY_HEADERS = ["forwarded", "via", "x-forwarded-for", "x-real-ip", "x-envoy-external-address"] as const;

const RULE = "profiles hold secrets: only for this machine itself, unless DEBUG_PROFILING=true";

/** The reason to refuse a request; undefined when it comes from this machine itself. */
export function findRefusal(
  request: Pick<IncomingMessage, "headers"> & { readonly socket: { readonly remoteAddress?: string | undefined } },
): string | undefined {
  const { headers, socket } = request;
  if (!isLoopback(socket.remoteAddress)) return RULE;
  const proxy = PROXY_HEADERS.find((name) => headers[name] !== undefined);
  if (proxy !== undefined) return `${RULE}; this request came through a proxy, it has the header ${proxy}`;
  // A web page can have its own name lead to this machine, and then asks as if it were its own
  // server.
  if (!isLocalName(headers.host)) return `${RULE}; ask for it by 127.0.0.1, [::1] or localhost`;
  return undefined;
}

/**
 * Whether a peer's address is that of this machine itself, also where IPv6 carries it. Other addresses of 127.0.0.0/8
 * are not: Istio's sidecar passes connections of other pods on from 127.0.0.6, without a header.
 */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::1|(::ffff:)?127\.0\.0\.1)$/i.test(address);
}

/** Whether a Host header names this machine as only this machine does. HTTP/1.0 has none. */
function isLocalName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || isLoopback(name);
}
