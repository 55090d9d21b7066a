// The configuration of an Envoy that does the work of an Ingress: ends TLS, leads hosts to upstreams, and names the
// caller in X-Forwarded-For.
import { stringify } from "yaml";
import { STACK_HOST } from "@weir/dev/setup/ports";

const EXTENSIONS = "type.googleapis.com/envoy.extensions";

/** Long, for a busy machine. */
const CONNECT_TIMEOUT = "20s";

/** Where a host leads. */
export interface IngressHost {
  readonly host: string;
  /** `address:port` of each upstream; they take turns. */
  readonly upstreams: readonly string[];
  /** What replaces the slash at the start of paths. */
  readonly prefix?: string;
}

/** Writes it as YAML, for a free port. */
export function ingressConfig(
  hosts: readonly IngressHost[],
  tls: { readonly certPath: string; readonly keyPath: string },
): string {
  const pair = { certificate_chain: { filename: tls.certPath }, private_key: { filename: tls.keyPath } };
  return stringify({
    static_resources: {
      listeners: [
        {
          name: "ingress",
          address: socketAddress(`${STACK_HOST}:0`),
          filter_chains: [
            {
              transport_socket: {
                name: "envoy.transport_sockets.tls",
                typed_config: {
                  "@type": `${EXTENSIONS}.transport_sockets.tls.v3.DownstreamTlsContext`,
                  common_tls_context: { tls_certificates: [pair], alpn_protocols: ["h2", "http/1.1"] },
                },
              },
              filters: [connectionManager(hosts)],
            },
          ],
        },
      ],
      clusters: hosts.map(({ host, upstreams }) => ({
        name: host,
        type: "STATIC",
        connect_timeout: CONNECT_TIMEOUT,
        load_assignment: {
          cluster_name: host,
          endpoints: [
            { lb_endpoints: upstreams.map((upstream) => ({ endpoint: { address: socketAddress(upstream) } })) },
          ],
        },
      })),
    },
  });
}

function connectionManager(hosts: readonly IngressHost[]): unknown {
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "ingress",
      use_remote_address: true,
      route_config: {
        name: "routes",
        virtual_hosts: hosts.map(({ host, prefix = "/" }) => ({
          name: host,
          domains: [host],
          routes: [{ match: { prefix: "/" }, route: { cluster: host, prefix_rewrite: prefix, retry_policy: RETRIES } }],
        })),
      },
      http_filters: [
        { name: "envoy.filters.http.router", typed_config: { "@type": `${EXTENSIONS}.filters.http.router.v3.Router` } },
      ],
    },
  };
}

/** A request that reached no upstream is sent to another one. */
const RETRIES = {
  retry_on: "connect-failure,refused-stream",
  num_retries: 3,
  retry_host_predicate: [
    {
      name: "envoy.retry_host_predicates.previous_hosts",
      typed_config: { "@type": `${EXTENSIONS}.retry.host.previous_hosts.v3.PreviousHostsPredicate` },
    },
  ],
};

function socketAddress(text: string): unknown {
  const [address, port] = text.split(":");
  return { socket_address: { address, port_value: Number(port) } };
}
