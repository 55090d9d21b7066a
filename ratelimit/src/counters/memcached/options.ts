// Settings of the memcached backend.
import type { TlsMaterial } from "@weir/common/tls/tls-files";

/** How the nodes are found. */
export type NodeSource =
  | {
      readonly kind: "list";
      /**
       * ALTSTORE_HOST_PORT: host:port, or a path with a "/" for a unix socket. The order decides which
       * key is on which node; a node that is listed twice gets two shares.
       */
      readonly addresses: readonly string[];
    }
  | {
      readonly kind: "srv";
      /** ALTSTORE_SRV, such as `_memcache._tcp.example.org`. */
      readonly record: string;
      /**
       * ALTSTORE_SRV_REFRESH: time between lookups, in milliseconds; 0 = only at start. Default 0.
       */
      readonly refreshMs: number;
    };

/** TLS to the nodes. */
export interface MemcachedTlsOptions {
  /**
   * The current certificates, for each new connection: ALTSTORE_TLS_CLIENT_CERT, _CLIENT_KEY,
   * _CACERT.
   */
  readonly material: () => TlsMaterial;
  /** ALTSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: the chain is verified in any case. Default false. */
  readonly skipHostnameVerification: boolean;
}

/** Settings of the backend. */
export interface MemcachedCounterOptions {
  readonly nodes: NodeSource;
  /** ALTSTORE_TLS with its files; undefined = plain text. */
  readonly tls: MemcachedTlsOptions | undefined;
  /**
   * ALTSTORE_MAX_IDLE_CONNS: most connections to a node. Many calls share each; more than one open
   * under load only. Default 2.
   */
  readonly maxConnections: number;
  /**
   * ALTSTORE_TIMEOUT: longest wait for a connection, and for an answer, in milliseconds. Default
   * 500.
   */
  readonly timeoutMs: number;
  /**
   * EXPIRATION_JITTER_MAX_SECONDS: a random number of seconds below this is added to each expiry; 0
   * = none. Default 300.
   */
  readonly expiryJitterMaxSeconds: number;
  /**
   * The value of a count that could not be read: "zero" counts from 0, so that the fault of a node
   * affects its own counters only (as in envoyproxy/ratelimit, for BACKEND_FAILURE_MODE=allow);
   * "failure" fails the whole call.
   */
  readonly unread: "zero" | "failure";
  /**
   * KVSTORE_STARTUP_MAX_ELAPSED_TIME: longest wait at start for the first node to answer, in
   * milliseconds; 0 = no bound. Default 0.
   */
  readonly startMaxElapsedMs: number;
}
