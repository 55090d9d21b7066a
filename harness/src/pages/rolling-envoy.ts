// Envoy before several rate limit pods that are replaced, with the health checks and retries of the guide
// to migration.
import { eventually } from "../processes/eventually.ts";
import { parse } from "yaml";
import { type Envoy, startEnvoy } from "../envoy/envoy.ts";
import { endpoints, type Fields, rateLimitService, socketAddress } from "../envoy/envoy-config.ts";
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
  const servers = podPorts.map((port) => socketAddress(port));
  return startEnvoy({
    ...options,
    rateLimitCluster: {
      ...endpoints("ratelimit", servers),
      ...(parse(guide.block("yaml", "health_checks")) as Fields),
    },
    filter: { rate_limit_service: rateLimitService("ratelimit", parse(guide.block("yaml", "retry_policy")) as Fields) },
  });
}

/** Waits until Envoy has found so many pods healthy, as a rollout does that waits for each pod. */
export async function untilHealthy(envoy: Envoy, pods: number): Promise<void> {
  await eventually("all pods to be healthy for Envoy", async () => {
    const healthy = await envoy.statistic("cluster.ratelimit.membership_healthy");
    if (healthy !== pods) throw new Error(`${healthy} of ${pods} are`);
  });
}
