// What a server of a deployment is made with.
import type { Log } from "@weir/common/log/log";
import type { KvstoreAddress } from "./address.ts";
import type { ExpiryMemory } from "./expiry-memory.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "./options.ts";
import type { PoolStatistics } from "./pool-statistics.ts";

/** What a server works with; all servers of a deployment share it. */
export interface ServerDeps {
  readonly log: Log;
  readonly clock: () => number;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
  /** The keys whose expiry was sent, to whatever server. */
  readonly expiries: ExpiryMemory;
}

/** What is particular to this server. */
export interface ServerOptions {
  readonly address: KvstoreAddress;
  readonly server: KvstoreServerOptions;
  readonly counter: KvstoreCounterOptions;
  /** Whether connections to a server that says it is a replica are refused. Default false. */
  readonly wantsPrimary?: boolean;
}
