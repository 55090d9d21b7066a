// The deployment type "single": one server at a fixed address, over TCP or a unix socket.
import { ServiceError } from "@weir/common/errors/service-error";
import { parseAddress } from "../address.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import { RedisServer } from "../server/server.ts";
import { shareAmongServers } from "../server/server-options.ts";

/** Makes the deployment. Fails with STORE_ADDRESS_INVALID when the address cannot be read. */
export function createSingleDeployment(deps: DeploymentDeps, options: DeploymentOptions): Deployment {
  const parsed = parseAddress(options.server);
  if (!parsed.ok)
    throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${options.urlSetting}: ${parsed.problem}`);
  return new RedisServer(shareAmongServers(deps, options), { ...options, address: parsed.address });
}
