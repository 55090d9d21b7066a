// Settings of the xDS client, as the rest of the process hands them over.
import type { TlsFilePaths } from "@weir/common/tls/tls-files";

/** How to reach the server and how to come back to it. */
export interface XdsOptions {
  /** CONFIG_GRPC_XDS_SERVER_URL: host:port. */
  readonly serverUrl: string;
  /** CONFIG_GRPC_XDS_NODE_ID. */
  readonly nodeId: string;
  /** CONFIG_GRPC_XDS_NODE_METADATA. */
  readonly nodeMetadata: ReadonlyMap<string, string>;
  /** CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS; may hold secrets, so they are never logged. */
  readonly headers: ReadonlyMap<string, string>;
  /** CONFIG_GRPC_XDS_SERVER_USE_TLS with its files; undefined = plain text. */
  readonly tls: XdsTlsOptions | undefined;
  /** XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES; undefined = the 4 MiB of gRPC. */
  readonly messageMaxBytes: number | undefined;
  /**
   * CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: first wait after a connection that could not be
   * made, in milliseconds.
   */
  readonly connectRetryMs: number;
  /** For tests: how long a connection may take, in milliseconds, instead of CONNECT_TIMEOUT_MS. */
  readonly connectTimeoutMs?: number;
  /**
   * For tests: how long a server may be silent before it is pinged, and may then take to answer,
   * instead of KEEPALIVE.
   */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number };
  /** XDS_CLIENT_BACKOFF_*: waits after a stream that broke. */
  readonly backoff: XdsBackoffOptions;
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

/** Waits between streams. */
export interface XdsBackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly factor: number;
  readonly jitter: boolean;
}
