// Options of the xDS client.
import type { BackoffOptions } from "@weir/common/backoff/backoff";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";

/** Options of the connections to the server. */
export interface XdsOptions {
  /** CONFIG_TYPE, CONFIG_GRPC_XDS_DELTA: whether the client asks for what changes, not for everything each time. */
  readonly isIncremental: boolean;
  /** CONFIG_GRPC_XDS_SERVER_URL: host:port. */
  readonly serverUrl: string;
  /** CONFIG_GRPC_XDS_NODE_ID. */
  readonly nodeId: string;
  /** CONFIG_GRPC_XDS_NODE_METADATA. */
  readonly nodeMetadata: ReadonlyMap<string, string>;
  /** CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS; may contain secrets, never logged. */
  readonly headers: ReadonlyMap<string, string>;
  /** CONFIG_GRPC_XDS_SERVER_USE_TLS with its files; undefined = plain text. */
  readonly tls: XdsTlsOptions | undefined;
  /** XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES; undefined = the 4 MiB of gRPC. */
  readonly messageMaxBytes: number | undefined;
  /**
   * CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: first wait after a failed connection, in
   * milliseconds.
   */
  readonly connectRetryMs: number;
  /** For tests: longest wait for a connection, in milliseconds, instead of CONNECT_TIMEOUT_MS. */
  readonly connectTimeoutMs?: number;
  /** For tests: silence before a ping, and longest wait for its answer, instead of KEEPALIVE. */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number };
  /** For tests: silence of a stream before it is logged, in milliseconds, instead of SILENCE_MS. */
  readonly silenceMs?: number;
  /** XDS_CLIENT_BACKOFF_*: waits after a broken stream. */
  readonly backoff: Omit<BackoffOptions, "random">;
}

/** TLS to the server. */
export interface XdsTlsOptions {
  /**
   * CONFIG_GRPC_XDS_CLIENT_TLS_CERT, _KEY and CONFIG_GRPC_XDS_SERVER_TLS_CACERT; read again for
   * each connection.
   */
  readonly paths: TlsFilePaths;
  /**
   * CONFIG_GRPC_XDS_SERVER_TLS_SAN: the name that the server's certificate must be valid for;
   * undefined = the host of the URL.
   */
  readonly serverName: string | undefined;
}
