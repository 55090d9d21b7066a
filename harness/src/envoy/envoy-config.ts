// The parts of Envoy's configuration that tests put together: listeners at free ports of this machine, filters and
// clusters.
import { STACK_HOST } from "@weir/dev/setup/ports";

/** A part of a configuration. */
export type Fields = Readonly<Record<string, unknown>>;

/** Prefix of the types of Envoy's extensions. */
export const EXTENSIONS = "type.googleapis.com/envoy.extensions";

/** Name of the rate limit filter. */
export const RATE_LIMIT = "envoy.filters.http.ratelimit";

/** For connections and decisions: Envoy's default for the latter, 20 ms, is too short on a busy machine. */
const LONG_TIMEOUT = "20s";

/** Routes and filters of a listener. */
export interface ListenerOptions {
  readonly virtualHosts: readonly Fields[];
  /** Filters before the router. */
  readonly filters?: readonly object[];
  /** Further fields of the connection manager. */
  readonly manager?: Fields;
  /** Further fields of the filter chain. */
  readonly chain?: Fields;
}

/** A listener at a free port. */
export function listener(name: string, { virtualHosts, filters = [], manager, chain }: ListenerOptions): Fields {
  const connectionManager = {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "ingress",
      route_config: { name: "routes", virtual_hosts: virtualHosts },
      http_filters: [...filters, ROUTER],
      ...manager,
    },
  };
  return { name, address: socketAddress(0), filter_chains: [{ filters: [connectionManager], ...chain }] };
}

const ROUTER = {
  name: "envoy.filters.http.router",
  typed_config: { "@type": `${EXTENSIONS}.filters.http.router.v3.Router` },
};

/** The rate limit filter. Without an answer a request gets a 500, so that no test passes unlimited. */
export function rateLimitFilter(domain: string, clusterName: string, further: Fields = {}): Fields {
  return {
    name: RATE_LIMIT,
    typed_config: {
      "@type": `${EXTENSIONS}.filters.http.ratelimit.v3.RateLimit`,
      domain,
      failure_mode_deny: true,
      timeout: LONG_TIMEOUT,
      rate_limit_service: rateLimitService(clusterName),
      ...further,
    },
  };
}

/** The service that a rate limit filter asks; `further` are fields of the gRPC service. */
export function rateLimitService(clusterName: string, further: Fields = {}): Fields {
  return { transport_api_version: "V3", grpc_service: { envoy_grpc: { cluster_name: clusterName }, ...further } };
}

/** All requests to one cluster. */
export function allRoutes(clusterName: string): readonly Fields[] {
  return [{ match: { prefix: "/" }, route: { cluster: clusterName } }];
}

/** A cluster of servers, which take turns. */
export function cluster(name: string, ...servers: readonly Fields[]): Fields {
  return { name, type: "STATIC", connect_timeout: LONG_TIMEOUT, ...endpoints(name, servers) };
}

/** The same of servers that speak gRPC: it needs HTTP/2, which Envoy does not assume of a cluster. */
export function grpcCluster(name: string, ...servers: readonly Fields[]): Fields {
  return { ...cluster(name, ...servers), ...HTTP2_ONLY };
}

/** The servers of a cluster: its `load_assignment`. */
export function endpoints(name: string, servers: readonly Fields[]): Fields {
  const all = servers.map((address) => ({ endpoint: { address } }));
  return { load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: all }] } };
}

/** An address, by default of this machine. */
export function socketAddress(port: number, address: string = STACK_HOST): Fields {
  return { socket_address: { address, port_value: port } };
}

/** Fields of a cluster that speaks nothing but HTTP/2. */
const HTTP2_ONLY = {
  typed_extension_protocol_options: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
      explicit_http_config: { http2_protocol_options: {} },
    },
  },
};
