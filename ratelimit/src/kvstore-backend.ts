// Chooses the deployment types of the kvstore backend, each loaded only when the settings name it.
import type { Counter } from "./counters/counter.ts";
import type { CreateDeployment, DeploymentDeps } from "./counters/kvstore/deployment.ts";
import { createKvstoreCounter } from "./counters/kvstore/kvstore-counter.ts";
import type { KvstoreCounterOptions } from "./counters/kvstore/options.ts";

/** Makes the backend. Fails with STORE_ADDRESS_INVALID when an address cannot be read. */
export async function createKvstoreBackend(deps: DeploymentDeps, options: KvstoreCounterOptions): Promise<Counter> {
  const { createSingleDeployment } = await import("./counters/kvstore/single/single-deployment.ts");
  const createDeployment: CreateDeployment = (...args) => createSingleDeployment(...args);
  return createKvstoreCounter({ ...deps, createDeployment }, options);
}
