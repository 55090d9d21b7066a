// The kinds of counter store over which the flows from end to end are the same: which servers each
// needs, and the environment of the service for it.
import { STACK_HOST } from "@weir/dev/ports";
import {
  type StoreServer,
  startCluster,
  startMemcached,
  startRedisServer,
  startSentinel,
  writeStoreCertificates,
} from "./store-server.ts";

/** A kind of store that runs. */
export interface RunningBackend {
  /** The environment of the service. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** A kind of store. */
export interface Backend {
  readonly name: string;
  /** Whether the service keeps what is over its limit in a local cache. */
  readonly hasLocalCache: boolean;
  /** Whether one descriptor over its limit stops the counters of the others. */
  readonly stopsOthers: boolean;
  /** Whether counters change after the answer, and questions must wait for that. */
  readonly countsLater: boolean;
  start(folder: string): Promise<RunningBackend>;
}

const LOCAL_CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: "1000000" } as const;
const STOP = { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true" } as const;

/** A machine that is busy may let a store wait for longer than a proxy would. */
const PATIENCE = { KVSTORE_COMMAND_TIMEOUT: "20s", ALTSTORE_TIMEOUT: "20s" } as const;

/** What is plain about a backend. */
const PLAIN = { hasLocalCache: false, stopsOthers: false, countsLater: false } as const;

/** Every kind. */
export const BACKENDS: readonly Backend[] = [
  { ...PLAIN, name: "memory", start: () => running([], { BACKEND_TYPE: "memory" }) },
  {
    ...PLAIN,
    name: "memory with a local cache, which stops others",
    hasLocalCache: true,
    stopsOthers: true,
    start: () => running([], { BACKEND_TYPE: "memory", ...LOCAL_CACHE, ...STOP }),
  },
  {
    ...PLAIN,
    name: "Redis",
    start: async (folder: string): Promise<RunningBackend> => redis([await startRedisServer(folder)]),
  },
  {
    ...PLAIN,
    name: "Redis with a password, a prefix and a local cache",
    hasLocalCache: true,
    start: async (folder: string): Promise<RunningBackend> =>
      redis([await startRedisServer(folder, ["--requirepass", "open:sesame"])], {
        REDIS_AUTH: "default:open:sesame",
        CACHE_KEY_PREFIX: "limits:",
        ...LOCAL_CACHE,
      }),
  },
  {
    ...PLAIN,
    name: "Redis, which stops others",
    stopsOthers: true,
    start: async (folder: string): Promise<RunningBackend> => redis([await startRedisServer(folder)], STOP),
  },
  {
    ...PLAIN,
    name: "Redis over TLS with client certificates",
    start: async (folder: string): Promise<RunningBackend> => {
      const { ca, serverCert, serverKey, clientCert, clientKey } = await writeStoreCertificates(folder);
      const flags = [
        "--tls-cert-file",
        serverCert,
        "--tls-key-file",
        serverKey,
        "--tls-ca-cert-file",
        ca,
        "--tls-auth-clients",
        "yes",
      ];
      return redis([await startRedisServer(folder, flags, "--tls-port")], {
        REDIS_TLS: "true",
        REDIS_TLS_CACERT: ca,
        REDIS_TLS_CLIENT_CERT: clientCert,
        REDIS_TLS_CLIENT_KEY: clientKey,
      });
    },
  },
  {
    ...PLAIN,
    name: "a pair of Redis, one for counters per second",
    start: async (folder: string): Promise<RunningBackend> => {
      const [main, perSecond] = [await startRedisServer(folder), await startRedisServer(folder)];
      return redis([main, perSecond], {
        REDIS_PERSECOND: "true",
        REDIS_PERSECOND_SOCKET_TYPE: "tcp",
        REDIS_PERSECOND_URL: addressOf(perSecond),
      });
    },
  },
  {
    ...PLAIN,
    name: "a Redis cluster with a write window",
    start: async (folder: string): Promise<RunningBackend> => {
      const nodes = await startCluster(folder);
      return redis(nodes, {
        REDIS_TYPE: "CLUSTER",
        REDIS_URL: nodes.map(addressOf).join(","),
        REDIS_PIPELINE_WINDOW: "150us",
      });
    },
  },
  {
    ...PLAIN,
    name: "Redis behind a sentinel",
    start: async (folder: string): Promise<RunningBackend> => {
      const main = await startRedisServer(folder);
      const sentinel = await startSentinel(folder, main.port);
      return redis([main, sentinel], { REDIS_TYPE: "SENTINEL", REDIS_URL: `mymaster,${addressOf(sentinel)}` });
    },
  },
  {
    ...PLAIN,
    name: "three memcached with a local cache",
    hasLocalCache: true,
    countsLater: true,
    start: async (): Promise<RunningBackend> => {
      const nodes = [await startMemcached(), await startMemcached(), await startMemcached()];
      return running(nodes, {
        BACKEND_TYPE: "memcache",
        MEMCACHE_HOST_PORT: nodes.map(addressOf).join(","),
        ...LOCAL_CACHE,
      });
    },
  },
  {
    ...PLAIN,
    name: "memcached over TLS",
    countsLater: true,
    start: async (folder: string): Promise<RunningBackend> => {
      const { ca, serverCert, serverKey } = await writeStoreCertificates(folder);
      const node = await startMemcached(["-Z", "-o", `ssl_chain_cert=${serverCert},ssl_key=${serverKey}`]);
      return running([node], {
        BACKEND_TYPE: "memcache",
        MEMCACHE_HOST_PORT: addressOf(node),
        MEMCACHE_TLS: "true",
        MEMCACHE_TLS_CACERT: ca,
      });
    },
  },
];

function redis(servers: readonly StoreServer[], env: Readonly<Record<string, string>> = {}): Promise<RunningBackend> {
  const [main] = servers;
  const address = main === undefined ? {} : { REDIS_URL: addressOf(main) };
  return running(servers, { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", ...address, ...env });
}

function running(servers: readonly StoreServer[], env: Readonly<Record<string, string>>): Promise<RunningBackend> {
  const stop = async (): Promise<void> => {
    for (const server of servers.toReversed()) await server.stop();
  };
  return Promise.resolve({ env: { ...PATIENCE, ...env }, stop });
}

function addressOf({ port }: StoreServer): string {
  return `${STACK_HOST}:${port}`;
}
