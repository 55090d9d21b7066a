// The connections to an API server: directly, or through an HTTP or SOCKS proxy.
import { SocksClient } from "socks";
import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from "undici";

import type { RequestAccess } from "../access/cluster-access.ts";

/** Time after which TCP probes an idle connection, in milliseconds, so that NAT and load balancers keep it. */
const KEEP_ALIVE_PROBE_MS = 30_000;

/** Connections that must be there within `timeoutMs`. */
export function createDispatcher(
  tls: RequestAccess["tls"],
  proxyUrl: string | undefined,
  timeoutMs: number,
): Dispatcher {
  const connect = { ...tls, timeout: timeoutMs, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS, allowH2: false };
  if (proxyUrl === undefined) return new Agent({ connect });
  if (proxyUrl.startsWith("socks")) return createSocksAgent(connect, new URL(proxyUrl), timeoutMs);
  return new ProxyAgent({
    uri: proxyUrl,
    requestTls: connect,
    connectTimeout: timeoutMs,
    ...(proxyUrl.startsWith("https:") && { proxyTls: { allowH2: false } }),
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: timeoutMs }),
  });
}

/** Connects through a SOCKS proxy. That of undici is experimental and takes no server by its address. */
function createSocksAgent(options: buildConnector.BuildOptions, proxyUrl: URL, timeoutMs: number): Agent {
  const secure = buildConnector(options);
  const proxy = {
    host: proxyUrl.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxyUrl.port || 1080),
    type: proxyUrl.protocol.startsWith("socks4") ? (4 as const) : (5 as const),
    ...(proxyUrl.username !== "" && {
      userId: decodeURIComponent(proxyUrl.username),
      password: decodeURIComponent(proxyUrl.password),
    }),
  };
  return new Agent({
    connect: (target, connected) => {
      const destination = { host: target.hostname, port: Number(target.port || 443) };
      SocksClient.createConnection({ proxy, command: "connect", destination, timeout: timeoutMs }).then(
        ({ socket }) =>
          target.protocol === "https:" ? secure({ ...target, httpSocket: socket }, connected) : connected(null, socket),
        (error: unknown) => connected(error instanceof Error ? error : new Error(String(error)), null),
      );
    },
  });
}
