// Dependencies and options of a server of a deployment.
import type { Log } from "@weir/common/log/log";
import type { TurnEnd } from "@weir/common/turn/turn-end";
import type { RedisAddress } from "../address.ts";
import { KeyMerger } from "../batch/key-merger.ts";
import { CommandBuffer } from "../connection/command-buffer.ts";
import type { DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import { ExpiryCache } from "../expiry/expiry-cache.ts";
import type { RedisCounterOptions, RedisServerOptions } from "../options.ts";
import { PoolStatistics } from "../connection/pool-statistics.ts";

/** The dependencies of a server; shared by all servers of a deployment. */
export interface ServerDeps {
  readonly log: Log;
  readonly monotonicMs: () => number;
  readonly turn: TurnEnd;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
  /** The buffer in which commands are built; empty between two writes. */
  readonly commands: CommandBuffer;
  readonly merger: KeyMerger;
  /** The keys whose expiry was sent, to any of the servers. */
  readonly expiries: ExpiryCache;
  readonly usesOwnClock: boolean;
}

export interface ServerOptions {
  readonly address: RedisAddress;
  readonly server: RedisServerOptions;
  readonly counter: RedisCounterOptions;
  /** True if a server that reports the role of a replica is refused. Default false. */
  readonly wantsPrimary?: boolean;
}

/** Makes what the servers of a deployment share. */
export function shareAmongServers(deps: DeploymentDeps, { scope }: Pick<DeploymentOptions, "scope">): ServerDeps {
  const { log, monotonicMs, turn, random, usesOwnClock = false } = deps;
  return {
    log,
    monotonicMs,
    turn,
    random,
    statistics: new PoolStatistics(deps, scope),
    commands: new CommandBuffer(),
    merger: new KeyMerger(),
    expiries: new ExpiryCache(),
    usesOwnClock,
  };
}
