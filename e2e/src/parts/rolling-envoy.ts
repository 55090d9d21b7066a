// Envoy before several rate limit pods that are replaced, with the health checks and retries of the guide
// to migration.
import { STACK_HOST } from "@weir/dev/setup/ports";
import { eventually } from "@weir/testing/eventually";
import { parse } from "yaml";
import { type Envoy, startEnvoy } from "./envoy.ts";
import type { Guide } from "./guide.ts";

/** The place of an Envoy and of its pods. */
export interface RollingEnvoyOptions {
  readonly folder: string;
  readonly domain: string;
  /** Ports of the pods on this machine. */
  readonly podPorts: readonly number[];
  readonly upstreamPort: number;
}

/** Starts Envoy with the two blocks of `guide` and resolves when it serves. */
export function startRollingEnvoy(guide: Guide, { podPorts, ...options }: RollingEnvoyOptions): Promise<Envoy> {
  const endpoints = podPorts.map((port) => ({
    endpoint: { address: { socket_address: { address: STACK_HOST, port_value: port } } },
  }));
  return startEnvoy({
    ...options,
    rateLimitCluster: {
      type: "STATIC",
      connect_timeout: "20s",
      load_assignment: { cluster_name: "ratelimit", endpoints: [{ lb_endpoints: endpoints }] },
      ...(parse(guide.block("yaml", "health_checks")) as object),
    },
    filter: {
      rate_limit_service: {
        transport_api_version: "V3",
        grpc_service: {
          envoy_grpc: { cluster_name: "ratelimit" },
          ...(parse(guide.block("yaml", "retry_policy")) as object),
        },
      },
    },
  });
}

/** Waits until Envoy has found so many pods healthy, as a rollout does that waits for each pod. */
export async function untilHealthy(envoy: Envoy, pods: number): Promise<void> {
  await eventually("all pods to be healthy for Envoy", async () => {
    const healthy = await envoy.statistic("cluster.ratelimit.membership_healthy");
    if (healthy !== pods) throw new Error(`${healthy} of ${pods} are`);
  });
}
