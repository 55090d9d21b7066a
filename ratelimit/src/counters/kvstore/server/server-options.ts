// What a server of a deployment is made with.
import type { Log } from "@weir/common/log/log";
import type { KvstoreAddress } from "../address.ts";
import type { DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import { ExpiryCache } from "../batch/expiry-cache.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "../options.ts";
import { PoolStatistics } from "../connection/pool-statistics.ts";

/** What a server works with; all servers of a deployment share it. */
export interface ServerDeps {
  readonly log: Log;
  readonly clock: () => number;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
  /** The keys whose expiry was sent, to whatever server. */
  readonly expiries: ExpiryCache;
}

/** What is particular to this server. */
export interface ServerOptions {
  readonly address: KvstoreAddress;
  readonly server: KvstoreServerOptions;
  readonly counter: KvstoreCounterOptions;
  /** Whether connections to a server that says it is a replica are refused. Default false. */
  readonly wantsPrimary?: boolean;
}

/** What the servers of a deployment share. */
export function shareAmongServers(deps: DeploymentDeps, { scope }: Pick<DeploymentOptions, "scope">): ServerDeps {
  const { log, clock, random } = deps;
  return { log, clock, random, statistics: new PoolStatistics(deps, scope), expiries: new ExpiryCache() };
}
