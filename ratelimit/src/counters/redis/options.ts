// Settings of the Redis backend, for all deployment types.
import type { Secret } from "@weir/common/settings/secret";
import type { TlsMaterial } from "@weir/common/tls/tls-files";

/** One deployment; there may be two of them: main and per-second. */
export interface RedisServerOptions {
  /** KVSTORE_TYPE. Default "single". */
  readonly type: "single" | "sentinel" | "cluster";
  /**
   * KVSTORE_SOCKET_TYPE, for the type single; the others always use TCP. Default "unix", as in
   * envoyproxy/ratelimit.
   */
  readonly socketType: "unix" | "tcp";
  /**
   * KVSTORE_URL. Single: a path for "unix", host:port for "tcp", or
   * redis://user:password@host:port/database for either. Sentinel: the name of the primary and then
   * sentinels, separated by commas. Cluster: nodes, separated by commas. A secret, because it may
   * contain a password.
   */
  readonly url: Secret;
  /** KVSTORE_AUTH: `password` or `user:password`; has precedence over the URL. May change. */
  readonly auth: Secret | undefined;
  /** KVSTORE_SENTINEL_AUTH: the same for the sentinels themselves, for the type sentinel. */
  readonly sentinelAuth: Secret | undefined;
  /** KVSTORE_TLS with its files; undefined = plain text. */
  readonly tls: RedisTlsOptions | undefined;
  /**
   * KVSTORE_POOL_SIZE: connections, each shared by many calls. Default 10, as in
   * envoyproxy/ratelimit; one is enough for a single event loop.
   */
  readonly poolSize: number;
  /** KVSTORE_PIPELINE_WINDOW and _LIMIT: how increments are batched. */
  readonly pipeline: PipelineOptions;
  /**
   * KVSTORE_CLUSTER_PIPELINE_PARALLELISM, for the type cluster: 0 = as many as the pool is large.
   * Default 1.
   */
  readonly clusterPipelineParallelism: number;
  /** KVSTORE_TIMEOUT: longest wait for a connection, in milliseconds. Default 10000. */
  readonly connectTimeoutMs: number;
}

/** When batched commands are written. */
export interface PipelineOptions {
  /**
   * KVSTORE_PIPELINE_WINDOW: the flush interval of the open batch, in milliseconds. 0, the default,
   * flushes at the end of each event-loop turn. From 1 ms on it is the delay of a timer. A shorter
   * window, such as 150us, spans event-loop turns as long as they bring further calls, and ends
   * with the first turn that brings none, or when it is over.
   */
  readonly windowMs: number;
  /**
   * KVSTORE_PIPELINE_LIMIT: most commands in a batch, an EXPIRE counted with its INCRBY; 0 = no
   * limit, the default.
   */
  readonly limit: number;
}

/** TLS to the store. */
export interface RedisTlsOptions {
  /**
   * The current certificates, for each new connection: KVSTORE_TLS_CLIENT_CERT, _CLIENT_KEY,
   * _CACERT.
   */
  readonly material: () => TlsMaterial;
  /** Calls the listener when they have changed; returns the function that ends this. */
  readonly onChange?: (listener: () => void) => () => void;
  /** KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: the chain is verified in any case. Default false. */
  readonly skipHostnameVerification: boolean;
}

/** Settings of the backend as a whole. */
export interface RedisCounterOptions {
  readonly main: RedisServerOptions;
  /** KVSTORE_PERSECOND: the server for counters of the unit SECOND; undefined = the main server. */
  readonly perSecond: RedisServerOptions | undefined;
  /**
   * KVSTORE_COMMAND_TIMEOUT: longest wait of a call for its answer, in milliseconds. Default 1000.
   * A server that is silent for so long fails calls immediately, until it answers a probe.
   */
  readonly commandTimeoutMs: number;
  /**
   * EXPIRATION_JITTER_MAX_SECONDS: a random number of seconds below this is added to each expiry; 0
   * = none. Default 300.
   */
  readonly expiryJitterMaxSeconds: number;
  /**
   * LIMIT_SCRIPTS: whether scripts count what INCRBY cannot. Without them such limits are approximate, and hits are not
   * given back. Default true.
   */
  readonly usesScripts: boolean;
  /**
   * KVSTORE_STARTUP_INITIAL_INTERVAL (1s), _MAX_INTERVAL (30s), _MAX_ELAPSED_TIME (0 = no bound):
   * the wait for the store at the start.
   */
  readonly startup: { readonly initialMs: number; readonly maxMs: number; readonly maxElapsedMs: number };
}
