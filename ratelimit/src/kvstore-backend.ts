// Chooses the deployment types of the kvstore backend; each is loaded only when the settings name
// it.
import type { Counter } from "./counters/counter.ts";
import type { CreateDeployment, DeploymentDeps } from "./counters/kvstore/deployment.ts";
import { createKvstoreCounter } from "./counters/kvstore/kvstore-counter.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "./counters/kvstore/options.ts";

/** Makes the backend. Fails with STORE_ADDRESS_INVALID when an address cannot be read. */
export async function createKvstoreBackend(deps: DeploymentDeps, options: KvstoreCounterOptions): Promise<Counter> {
  const createMain = await loadDeployment(options.main.type);
  const createPerSecond = options.perSecond && (await loadDeployment(options.perSecond.type));
  const createDeployment: CreateDeployment = (shared, deployment) => {
    const create = deployment.server === options.perSecond ? createPerSecond : createMain;
    return (create ?? createMain)(shared, deployment);
  };
  return createKvstoreCounter({ ...deps, createDeployment }, options);
}

async function loadDeployment(type: KvstoreServerOptions["type"]): Promise<CreateDeployment> {
  switch (type) {
    case "single":
      return (await import("./counters/kvstore/deployments/single/single-deployment.ts")).createSingleDeployment;
    case "sentinel":
      return (await import("./counters/kvstore/deployments/sentinel/sentinel-deployment.ts")).createSentinelDeployment;
    case "cluster":
      return (await import("./counters/kvstore/deployments/cluster/cluster-deployment.ts")).createClusterDeployment;
  }
}
