// Why a client did not get as far as a call, in words for whoever set it up. Pure: what Node and
// OpenSSL say of a handshake comes in.

/** The kinds of failure, as metrics count them. */
export const CONNECTION_FAILURES = [
  "no-tls",
  "no-certificate",
  "untrusted-certificate",
  "untrusted-server",
  "no-http2",
  "tls-version",
  "timeout",
  "broken-off",
  "other",
] as const;

/** One of {@link CONNECTION_FAILURES}. */
export type ConnectionFailureKind = (typeof CONNECTION_FAILURES)[number];

/** Why a connection came to nothing. */
export interface ConnectionFailure {
  readonly kind: ConnectionFailureKind;
  /** What the client did, for people. */
  readonly reason: string;
}

/** What is known of a handshake that failed. */
export interface FailedHandshake {
  readonly code: string;
  /** OpenSSL's own words; empty when the failure is not its. */
  readonly opensslReason: string;
  /**
   * Why the client's certificate is not accepted, by Node's name for it; undefined when it was not
   * looked at or is good.
   */
  readonly certificateError: string | undefined;
  /** Bytes that the client sent. */
  readonly bytesRead: number;
}

/** What is wrong with a certificate, by Node's name for it. */
const CERTIFICATE_WORDS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "no authority in ADS_TLS_CLIENT_CACERT has signed it",
  UNABLE_TO_GET_ISSUER_CERT: "no authority in ADS_TLS_CLIENT_CACERT has signed it",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "no authority in ADS_TLS_CLIENT_CACERT has signed it",
  SELF_SIGNED_CERT_IN_CHAIN: "the authority that has signed it is not in ADS_TLS_CLIENT_CACERT",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself, and not in ADS_TLS_CLIENT_CACERT",
  CERT_HAS_EXPIRED: "it, or an authority above it, has expired",
  CERT_NOT_YET_VALID: "it, or an authority above it, is not valid yet",
  INVALID_PURPOSE: "it is not for TLS clients (extended key usage)",
};

/** What a client says that does not take the server's certificate. */
const SERVER_DISTRUST =
  /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/;

/**
 * Explains it; undefined when the client only looked whether the port is open, as probes of load
 * balancers do.
 */
export function explainHandshake({
  code,
  opensslReason,
  certificateError,
  bytesRead,
}: FailedHandshake): ConnectionFailure | undefined {
  if (certificateError !== undefined) {
    const words = CERTIFICATE_WORDS[certificateError] ?? certificateError;
    return { kind: "untrusted-certificate", reason: `its certificate is not accepted: ${words}` };
  }
  if (SERVER_DISTRUST.test(code)) {
    return {
      kind: "untrusted-server",
      reason: `it does not accept the certificate of this control plane (${opensslReason})`,
    };
  }
  switch (code) {
    case "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE":
      return {
        kind: "no-certificate",
        reason: "it showed no certificate; clients need one of an authority in ADS_TLS_CLIENT_CACERT",
      };
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_HTTP_REQUEST":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return { kind: "no-tls", reason: "it speaks no TLS; this listener wants mutual TLS" };
    case "ERR_SSL_NO_APPLICATION_PROTOCOL":
      return NO_HTTP2;
    case "ERR_SSL_UNSUPPORTED_PROTOCOL":
    case "ERR_SSL_VERSION_TOO_LOW":
      return { kind: "tls-version", reason: "it speaks no TLS from version 1.2 on" };
    case "ERR_TLS_HANDSHAKE_TIMEOUT":
      return { kind: "timeout", reason: "it did not finish the TLS handshake in time" };
    case "ECONNRESET":
    case "EPIPE":
      return bytesRead === 0
        ? undefined
        : {
            kind: "broken-off",
            reason: "it broke the TLS handshake off; it may not accept the certificate of this control plane",
          };
    default:
      return { kind: "other", reason: `the TLS handshake failed: ${opensslReason === "" ? code : opensslReason}` };
  }
}

/** TLS without the protocol that gRPC is spoken over. */
export const NO_HTTP2: ConnectionFailure = {
  kind: "no-http2",
  reason: "it does not offer HTTP/2 (ALPN h2), which gRPC needs",
};

/** In plaintext the first bytes were not those of HTTP/2: TLS, as a rule. */
export const NOT_PLAINTEXT: ConnectionFailure = {
  kind: "no-http2",
  reason: "it speaks no HTTP/2 in plaintext; with ADS_PLAINTEXT=true clients must not use TLS",
};
