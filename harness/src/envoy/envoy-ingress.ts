// The configuration of an Envoy that does the work of an Ingress: ends TLS, leads hosts to upstreams, and names the
// caller in X-Forwarded-For.
import { stringify } from "yaml";
import { cluster, EXTENSIONS, listener, socketAddress } from "./envoy-config.ts";

/** After which another upstream is tried: the address of a pod that is gone does not answer. */
const CONNECT_TIMEOUT = "2s";

/** A host, and the upstreams that it leads to. */
export interface IngressHost {
  readonly host: string;
  /** `address:port` of each upstream; they take turns. */
  readonly upstreams: readonly string[];
  /** Text that replaces the slash at the start of paths. */
  readonly prefix?: string;
}

/** Writes it as YAML, for a free port. */
export function ingressConfig(
  hosts: readonly IngressHost[],
  tls: { readonly certPath: string; readonly keyPath: string },
): string {
  const pair = { certificate_chain: { filename: tls.certPath }, private_key: { filename: tls.keyPath } };
  const transportSocket = {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${EXTENSIONS}.transport_sockets.tls.v3.DownstreamTlsContext`,
      common_tls_context: { tls_certificates: [pair], alpn_protocols: ["h2", "http/1.1"] },
    },
  };
  const ingress = listener("ingress", {
    virtualHosts: hosts.map(({ host, prefix = "/" }) => ({
      name: host,
      domains: [host],
      routes: [{ match: { prefix: "/" }, route: { cluster: host, prefix_rewrite: prefix, retry_policy: RETRIES } }],
    })),
    manager: { use_remote_address: true },
    chain: { transport_socket: transportSocket },
  });
  const clusters = hosts.map(({ host, upstreams }) => ({
    ...cluster(host, ...upstreams.map(addressOf)),
    connect_timeout: CONNECT_TIMEOUT,
  }));
  return stringify({ static_resources: { listeners: [ingress], clusters } });
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

function addressOf(upstream: string): ReturnType<typeof socketAddress> {
  const [address, port] = upstream.split(":");
  return socketAddress(Number(port), address);
}
