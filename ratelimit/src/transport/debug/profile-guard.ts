// Decides which peers get profiles. Profiles hold secrets, so by default only peers on the same
// machine do.
import type { IncomingMessage } from "node:http";

import { isLocalName, isLoopback } from "@weir/common/net/loopback";

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
  if (!isLocalName(headers.host)) return `${RULE}; ask for it by 127.0.0.1, [::1] or localhost`;
  return undefined;
}
