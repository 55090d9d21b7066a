// Explains why there is no connection to the configuration server, with the settings to check, from
// the texts of grpc-js, Node and OpenSSL. Pure.

const USE_TLS = "CONFIG_GRPC_XDS_SERVER_USE_TLS";
const AUTHORITY = "CONFIG_GRPC_XDS_SERVER_TLS_CACERT";
const SERVER_NAME = "CONFIG_GRPC_XDS_SERVER_TLS_SAN";
const CERTIFICATE = "CONFIG_GRPC_XDS_CLIENT_TLS_CERT";
const KEY = "CONFIG_GRPC_XDS_CLIENT_TLS_KEY";

/**
 * The server closed the connection without a TLS alert. Servers in Node.js, such as Weir's control
 * plane, do so when they do not accept a certificate.
 */
const CLOSED = /Last error: (Error: )?(Failed to connect|Socket closed|read ECONNRESET|write (ECONNRESET|EPIPE))/;

/** TLS alerts of servers that do not accept a certificate, without a reason. */
const REFUSED = /alert (bad certificate|unsupported certificate|certificate (unknown|revoked)|access denied)/;

/** The client found that the server's certificate, or that of its authority, has expired. */
const EXPIRED = "Error: certificate has expired";

/** Explanations of texts, where the client's certificate does not matter; the first match. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /wrong version number|packet length too long|http request/,
    `the configuration server does not speak TLS on this port; ${USE_TLS}=false is for servers without TLS`,
  ],
  [
    /disconnected before secure TLS connection/,
    `the configuration server closed the connection during the TLS handshake; ${USE_TLS}=false is for servers without TLS`,
  ],
  [
    /self-signed certificate|unable to verify the first certificate|unable to get (local )?issuer certificate/,
    `the certificate of the configuration server is not from a trusted authority; ${AUTHORITY} must contain its authority`,
  ],
  [RegExp(EXPIRED), "the certificate of the configuration server, or of its authority, has expired"],
  [
    /certificate is not yet valid/,
    "the certificate of the configuration server, or of its authority, is not valid yet; check the clocks",
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    `the certificate of the configuration server is for other names; check the host in CONFIG_GRPC_XDS_SERVER_URL, or name one of them in ${SERVER_NAME}`,
  ],
  [
    /(unsuitable|unsupported) certificate purpose/,
    "the certificate of the configuration server is not for TLS servers (extended key usage)",
  ],
  [/no application protocol/, "the configuration server does not offer HTTP/2 (ALPN h2), which gRPC needs"],
  [/alert protocol version|unsupported protocol/, "the configuration server does not speak TLS from version 1.2 on"],
  [/larger than max/, "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit"],
];

/** The fields of the client's certificate that matter. */
export interface ShownCertificate {
  /** Its distinguished name, one part per line. */
  readonly issuer: string;
  readonly validFromDate: Date;
  readonly validToDate: Date;
}

/** How the connection was attempted. */
export type Attempt =
  /** `isTlsServer`: the server answered a TLS handshake afterwards. */
  | { readonly kind: "plaintext"; readonly isTlsServer: boolean }
  | { readonly kind: "tls"; readonly certificate: ShownCertificate | undefined; readonly now: Date };

/** Returns true if the reason is that the server closed the connection without a TLS alert. */
export function isClosedSilently(reason: string): boolean {
  return CLOSED.test(reason);
}

/** Returns true if the reason, explained or not, is that the server's certificate has expired. */
export function isServerExpired(reason: string): boolean {
  return reason.includes(EXPIRED);
}

/** The reason, with its cause and the settings to check in front if they are known. */
export function explainFailure(reason: string, attempt: Attempt): string {
  const cause = attempt.kind === "plaintext" ? plaintextCause(attempt.isTlsServer) : certificateCause(reason, attempt);
  const known = cause ?? REASONS.find(([pattern]) => pattern.test(reason))?.[1];
  return known === undefined ? reason : `${known} (${reason})`;
}

function plaintextCause(isTlsServer: boolean): string | undefined {
  return isTlsServer
    ? `the configuration server requires TLS on this port, and this client speaks plaintext; set ${USE_TLS}=true`
    : undefined;
}

/** The cause if it is the client's certificate. */
function certificateCause(
  reason: string,
  { certificate, now }: Extract<Attempt, { readonly kind: "tls" }>,
): string | undefined {
  const isClosed = CLOSED.test(reason);
  const isRefused = REFUSED.test(reason);
  if (!isClosed && !isRefused && !/alert (unknown ca|certificate (expired|required)|handshake failure)/.test(reason))
    return undefined;
  if (certificate === undefined) {
    return isClosed
      ? `the configuration server closed the connection after the TLS handshake; it may require a client certificate: set ${CERTIFICATE} and ${KEY}`
      : `the configuration server requires a client certificate; set ${CERTIFICATE} and ${KEY}`;
  }
  if (now > certificate.validToDate)
    return `the certificate in ${CERTIFICATE} has expired, at ${certificate.validToDate.toISOString()}`;
  if (now < certificate.validFromDate)
    return `the certificate in ${CERTIFICATE} is not valid before ${certificate.validFromDate.toISOString()}`;
  const issuer = certificate.issuer.trim().replaceAll("\n", ", ");
  const refusal = `accept the certificate in ${CERTIFICATE}, issued by ${issuer}`;
  if (reason.includes("alert unknown ca"))
    return `the configuration server does not ${refusal}: it does not trust that authority (in Weir's control plane: ADS_TLS_CLIENT_CACERT)`;
  if (reason.includes("alert certificate expired"))
    return `the configuration server does not ${refusal}: that, or its authority, has expired by the clock of the server`;
  return isClosed
    ? `the configuration server closed the connection after the TLS handshake; it may not ${refusal}: check authority (in Weir's control plane: ADS_TLS_CLIENT_CACERT) and purpose, its log has the reason`
    : `the configuration server does not ${refusal}; its log has the reason`;
}
