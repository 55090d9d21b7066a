// Explains why a client did not get as far as a call, for the operator who set the client up. Pure:
// the errors of Node and OpenSSL come in.

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

/** Why a connection failed. */
export interface ConnectionFailure {
  readonly kind: ConnectionFailureKind;
  /** A sentence without its subject, the client. */
  readonly reason: string;
}

export interface FailedHandshake {
  readonly code: string;
  /** OpenSSL's own words; empty when the failure is not its. */
  readonly opensslReason: string;
  /**
   * Node's name for the reason why the client's certificate is not accepted; undefined when it was
   * not checked or is good.
   */
  readonly certificateError: string | undefined;
  /** Bytes that the client sent. */
  readonly bytesRead: number;
}

/** The names that reasons use. */
export interface ListenerWords {
  /** The server, such as "this control plane". */
  readonly server: string;
  /** The setting of the authorities that clients need, such as "ADS_TLS_CLIENT_CACERT". */
  readonly clientAuthority: string;
  /** When the listener has no TLS, such as "with ADS_PLAINTEXT=true". */
  readonly plaintext: string;
}

/** The codes of alerts from a client that does not accept the server's certificate. */
const SERVER_DISTRUST =
  /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/;

/** TLS without the protocol that gRPC needs. */
export const NO_HTTP2: ConnectionFailure = {
  kind: "no-http2",
  reason: "it does not offer HTTP/2 (ALPN h2), which gRPC needs",
};

/** Explains first bytes in plaintext that are not those of HTTP/2: TLS, as a rule. */
export function explainNotPlaintext({ plaintext }: ListenerWords): ConnectionFailure {
  return { kind: "no-http2", reason: `it speaks no HTTP/2 in plaintext; ${plaintext} clients must not use TLS` };
}

/**
 * Explains a failed handshake; undefined when the client sent nothing, as probes of load balancers
 * do.
 */
export function explainHandshake(
  { code, opensslReason, certificateError, bytesRead }: FailedHandshake,
  { server, clientAuthority }: ListenerWords,
): ConnectionFailure | undefined {
  if (certificateError !== undefined) {
    const reason = certificateReason(certificateError, clientAuthority);
    return { kind: "untrusted-certificate", reason: `its certificate is not accepted: ${reason}` };
  }
  if (SERVER_DISTRUST.test(code))
    return { kind: "untrusted-server", reason: `it does not accept the certificate of ${server} (${opensslReason})` };
  switch (code) {
    case "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE":
      return {
        kind: "no-certificate",
        reason: `it showed no certificate; clients need one of an authority in ${clientAuthority}`,
      };
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_HTTP_REQUEST":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return { kind: "no-tls", reason: "it speaks no TLS, and this listener requires it" };
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
            reason: `it broke the TLS handshake off; it may not accept the certificate of ${server}`,
          };
    default:
      return { kind: "other", reason: `the TLS handshake failed: ${opensslReason === "" ? code : opensslReason}` };
  }
}

/** Explains Node's name for a fault of a certificate. */
function certificateReason(certificateError: string, clientAuthority: string): string {
  switch (certificateError) {
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return `no authority in ${clientAuthority} has signed it`;
    case "SELF_SIGNED_CERT_IN_CHAIN":
      return `the authority that has signed it is not in ${clientAuthority}`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return `it is signed by itself, and not in ${clientAuthority}`;
    case "CERT_HAS_EXPIRED":
      return "it, or an authority above it, has expired";
    case "CERT_NOT_YET_VALID":
      return "it, or an authority above it, is not valid yet";
    case "INVALID_PURPOSE":
      return "it is not for TLS clients (extended key usage)";
    default:
      return certificateError;
  }
}
