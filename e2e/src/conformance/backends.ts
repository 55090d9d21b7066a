// The kinds of counter store over which the flows from end to end are the same: the servers of each,
// and the environment of the service.
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { startMemcached } from "@weir/harness/servers/memcached";
import { startRedis, startRedisCluster, startSentinel } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import type { Env } from "@weir/harness/processes/programs";

/** A kind of store that runs. */
export interface RunningBackend {
  /** The environment of the service. */
  readonly env: Env;
  stop(): Promise<void>;
}

/** A kind of store. */
export interface Backend {
  readonly name: string;
  /** True if the service keeps what is over its limit in a local cache. */
  readonly hasLocalCache?: boolean;
  /** True if one descriptor over its limit stops the counters of the others. */
  readonly stopsOthers?: boolean;
  /** True if counters change after the answer; the next request must wait for that. */
  readonly countsLater?: boolean;
  start(folder: string): Promise<RunningBackend>;
}

const LOCAL_CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: "1000000" } as const;
const STOP = { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true" } as const;

/** Every kind. */
export const BACKENDS: readonly Backend[] = [
  { name: "memory", start: () => running([], { BACKEND_TYPE: "memory" }) },
  {
    name: "memory with a local cache, which stops others",
    hasLocalCache: true,
    stopsOthers: true,
    start: () => running([], { BACKEND_TYPE: "memory", ...LOCAL_CACHE, ...STOP }),
  },
  {
    name: "Redis",
    start: async (folder: string): Promise<RunningBackend> => redis([await startRedis(folder)]),
  },
  {
    name: "Redis with a password, a prefix and a local cache",
    hasLocalCache: true,
    start: async (folder: string): Promise<RunningBackend> =>
      redis([await startRedis(folder, { flags: ["--requirepass", "open:sesame"] })], {
        REDIS_AUTH: "default:open:sesame",
        CACHE_KEY_PREFIX: "limits:",
        ...LOCAL_CACHE,
      }),
  },
  {
    name: "Redis, which stops others",
    stopsOthers: true,
    start: async (folder: string): Promise<RunningBackend> => redis([await startRedis(folder)], STOP),
  },
  {
    name: "Redis over TLS with client certificates",
    start: async (folder: string): Promise<RunningBackend> => {
      const tls = await writeCertificates(folder);
      return redis([await startRedis(folder, { tls })], {
        REDIS_TLS: "true",
        REDIS_TLS_CACERT: tls.ca,
        REDIS_TLS_CLIENT_CERT: tls.clientCert,
        REDIS_TLS_CLIENT_KEY: tls.clientKey,
      });
    },
  },
  {
    name: "a pair of Redis, one for counters per second",
    start: async (folder: string): Promise<RunningBackend> => {
      const [main, perSecond] = [await startRedis(folder), await startRedis(folder)];
      return redis([main, perSecond], {
        REDIS_PERSECOND: "true",
        REDIS_PERSECOND_SOCKET_TYPE: "tcp",
        REDIS_PERSECOND_URL: perSecond.address,
      });
    },
  },
  {
    name: "a Redis cluster with a write window",
    start: async (folder: string): Promise<RunningBackend> => {
      const nodes = await startRedisCluster(folder);
      return redis(nodes, {
        REDIS_TYPE: "CLUSTER",
        REDIS_URL: nodes.map(({ address }) => address).join(","),
        REDIS_PIPELINE_WINDOW: "150us",
      });
    },
  },
  {
    name: "Redis behind a sentinel",
    start: async (folder: string): Promise<RunningBackend> => {
      const main = await startRedis(folder);
      const sentinel = await startSentinel(folder, main.port);
      return redis([main, sentinel], { REDIS_TYPE: "SENTINEL", REDIS_URL: `mymaster,${sentinel.address}` });
    },
  },
  {
    name: "three memcached with a local cache",
    hasLocalCache: true,
    countsLater: true,
    start: async (folder: string): Promise<RunningBackend> => {
      const nodes = [await startMemcached(folder), await startMemcached(folder), await startMemcached(folder)];
      return running(nodes, {
        BACKEND_TYPE: "memcache",
        MEMCACHE_HOST_PORT: nodes.map(({ address }) => address).join(","),
        ...LOCAL_CACHE,
      });
    },
  },
  {
    name: "memcached over TLS",
    countsLater: true,
    start: async (folder: string): Promise<RunningBackend> => {
      const { ca, serverCert, serverKey } = await writeCertificates(folder);
      const node = await startMemcached(folder, {
        flags: ["-Z", "-o", `ssl_chain_cert=${serverCert},ssl_key=${serverKey}`],
      });
      return running([node], {
        BACKEND_TYPE: "memcache",
        MEMCACHE_HOST_PORT: node.address,
        MEMCACHE_TLS: "true",
        MEMCACHE_TLS_CACERT: ca,
      });
    },
  },
];

function redis(servers: readonly StoreServer[], env: Env = {}): Promise<RunningBackend> {
  const [main] = servers;
  const address = main === undefined ? {} : { REDIS_URL: main.address };
  return running(servers, { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", ...address, ...env });
}

function running(servers: readonly StoreServer[], env: Env): Promise<RunningBackend> {
  const stop = async (): Promise<void> => {
    for (const server of servers.toReversed()) await server.stop();
  };
  return Promise.resolve({ env, stop });
}
