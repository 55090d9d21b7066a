// What the server needs to know of a request's headers.

/** The head of a request. Immutable: equal blocks of a connection share one. */
export interface RequestHead {
  readonly kind: "head";
  readonly method: string;
  /** "" for CONNECT. */
  readonly path: string;
  /** Whether the content type is application/grpc, alone or with "+subtype" or ";parameters". */
  readonly isGrpc: boolean;
  /** grpc-timeout in milliseconds, with fractions; undefined without one, NaN for a malformed one. */
  readonly timeoutMs: number | undefined;
  /** grpc-encoding; undefined without one. */
  readonly encoding: string | undefined;
  /** Whether "te: trailers" was sent. */
  readonly hasTeTrailers: boolean;
  /** Bytes of DATA that the request announces; undefined if it does not. */
  readonly contentLength: number | undefined;
  /**
   * All headers without pseudo-headers, values of a repeated name joined by ", ". Valid until the next
   * block of any connection is decoded, unless keep() was called before.
   */
  headers(): Readonly<Record<string, string>>;
  /** Makes headers() valid indefinitely. To be called when the call's method runs after another block. */
  keep(): void;
}

/** Why a block has no head. */
export interface HeaderFault {
  /**
   * "connection": GOAWAY with COMPRESSION_ERROR. "malformed": the stream is reset with
   * PROTOCOL_ERROR (RFC 9113, 8.1.1). "too large": the stream is refused, with status 431 for a
   * request.
   */
  readonly kind: "connection" | "malformed" | "too large";
  readonly reason: string;
}
