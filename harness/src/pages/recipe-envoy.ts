// The Envoy of the recipes: a listener for each recipe, and a second one whose rate limit filter asks
// a port where nothing listens.
import {
  allRoutes,
  cluster,
  type Fields,
  grpcCluster,
  listener,
  RATE_LIMIT,
  rateLimitFilter,
  socketAddress,
} from "../envoy/envoy-config.ts";
import type { Recipe } from "./recipes.ts";

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
  const clusters = [
    grpcCluster("weir", socketAddress(ports.rateLimit)),
    grpcCluster("closed", socketAddress(ports.closed)),
    cluster("upstream", socketAddress(ports.upstream)),
  ];
  const listeners = recipes.flatMap((recipe) => [recipeListener(recipe, true), recipeListener(recipe, false)]);
  return { static_resources: { listeners, clusters } };
}

function recipeListener(recipe: Recipe, hasPods: boolean): Fields {
  const { domain, filters, virtualHost } = recipe;
  const added = filters.find(({ name }) => name === RATE_LIMIT)?.typed_config;
  return listener(listenerOf(recipe, hasPods), {
    virtualHosts: [{ name: "recipe", domains: ["*"], routes: allRoutes("upstream"), ...virtualHost }],
    filters: [
      ...filters.filter(({ name }) => name !== RATE_LIMIT),
      rateLimitFilter(domain, hasPods ? "weir" : "closed", added),
    ],
    // Takes the address of the client from x-forwarded-for, as behind another proxy.
    manager: { use_remote_address: false },
  });
}
