// The Envoy of the recipes: a listener for each recipe, and a second one whose rate limit filter asks
// a port where nothing listens.
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { HttpFilter, Recipe } from "./recipes.ts";

/** Prefix of the types of Envoy's extensions. */
const EXTENSIONS = "type.googleapis.com/envoy.extensions";

/** Name of the filter that the recipes configure. */
const RATE_LIMIT = "envoy.filters.http.ratelimit";

/** Ports of 127.0.0.1. */
export interface RecipePorts {
  readonly rateLimit: number;
  readonly upstream: number;
  /** Nothing listens there. */
  readonly closed: number;
}

/** Name of the listener of a recipe. */
export function listenerOf(recipe: Recipe, hasPods: boolean): string {
  return `${recipe.file} ${hasPods ? "with" : "without"} pods`;
}

/** Envoy's configuration for all recipes. */
export function recipeEnvoyConfig(recipes: readonly Recipe[], ports: RecipePorts): unknown {
  const listeners = recipes.flatMap((recipe) =>
    [true, false].map((hasPods) => ({
      name: listenerOf(recipe, hasPods),
      address: socketAddress(0),
      filter_chains: [{ filters: [connectionManager(recipe, hasPods ? "weir" : "closed")] }],
    })),
  );
  const clusters = [grpcCluster("weir", ports.rateLimit), grpcCluster("closed", ports.closed)];
  return {
    node: { id: "recipes", cluster: "recipes" },
    static_resources: { listeners, clusters: [...clusters, cluster("upstream", ports.upstream)] },
  };
}

function connectionManager(recipe: Recipe, rateLimitCluster: string): unknown {
  const routes = [{ match: { prefix: "/" }, route: { cluster: "upstream" } }];
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "recipes",
      // Takes the address of the client from x-forwarded-for, as behind another proxy.
      use_remote_address: false,
      route_config: { virtual_hosts: [{ name: "recipe", domains: ["*"], routes, ...recipe.virtualHost }] },
      http_filters: [
        ...recipe.filters.filter(({ name }) => name !== RATE_LIMIT),
        rateLimitFilter(recipe, rateLimitCluster),
        { name: "envoy.filters.http.router", typed_config: { "@type": `${EXTENSIONS}.filters.http.router.v3.Router` } },
      ],
    },
  };
}

/** The filter with what the recipe adds. A failure is a 500, so that no test passes unlimited. */
function rateLimitFilter({ domain, filters }: Recipe, clusterName: string): HttpFilter {
  const added = filters.find(({ name }) => name === RATE_LIMIT)?.typed_config;
  return {
    name: RATE_LIMIT,
    typed_config: {
      "@type": `${EXTENSIONS}.filters.http.ratelimit.v3.RateLimit`,
      domain,
      timeout: "20s", // The machine of a test may be busy.
      failure_mode_deny: true,
      rate_limit_service: { transport_api_version: "V3", grpc_service: { envoy_grpc: { cluster_name: clusterName } } },
      ...added,
    },
  };
}

function grpcCluster(name: string, port: number): unknown {
  const options = {
    "@type": `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  };
  return {
    ...cluster(name, port),
    typed_extension_protocol_options: { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options },
  };
}

function cluster(name: string, port: number): Record<string, unknown> {
  const endpoint = { endpoint: { address: socketAddress(port) } };
  return {
    name,
    type: "STATIC",
    connect_timeout: "20s",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
  };
}

function socketAddress(port: number): unknown {
  return { socket_address: { address: STACK_HOST, port_value: port } };
}
