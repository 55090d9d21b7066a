// Explains why a replica did not answer, and what to check. Pure.
import { Code, ConnectError } from "@connectrpc/connect";
import { describeError } from "@weir/common/errors/service-error";

const DISTRUST =
  /self[- ]signed|unable to verify the first certificate|unable to get (local )?issuer certificate|UNABLE_TO_/i;

/** Explanations of network and TLS failures, by Node's and OpenSSL's texts; the first match. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/Failed to establish tunnel.* 407 /, "the proxy requires authentication, its URL can contain user and password"],
  [/Failed to establish tunnel/, "the proxy does not connect to it"],
  [/ECONNREFUSED/, "connection refused"],
  [/ENOTFOUND|EAI_AGAIN/, "its name has no address"],
  [/EHOSTUNREACH|ENETUNREACH/, "no route to it"],
  [/ETIMEDOUT/, "connecting took too long"],
  [/Parse Error: Expected HTTP/, "it does not answer in HTTP/1.1, is it the HTTP port of a control plane?"],
  [/unsupported content type/, "it does not answer as a rollout API, is it the HTTP port of a control plane?"],
  [DISTRUST, "its certificate is not from a trusted authority, name one with --ca-file"],
  [/certificate has expired|certificate is not yet valid/, "its certificate is not valid now"],
  [/wrong version number|packet length too long|EPROTO.*http request/i, "it does not speak TLS, try http://"],
  [
    /certificate required|alert (bad certificate|handshake failure|unknown ca|certificate unknown|access denied)/,
    "it requires a client certificate that it trusts, give one with --cert-file and --key-file",
  ],
];

/** Longest chain of causes that is followed. */
const CAUSES_MAX = 8;

/** The API that was asked, and the port that has it. */
interface AskedApi {
  readonly api: string;
  readonly port: string;
}

/** The API of the console. */
export const CONSOLE: AskedApi = {
  api: "the API of the console",
  port: "the port of the console (CONSOLE_PORT, 8092)",
};

const ROLLOUT: AskedApi = { api: "a rollout API", port: "the HTTP port" };

/** Why a request failed, in one line that begins with the server. */
export function explainFailure(
  label: string,
  error: unknown,
  answerTimeoutMs: number,
  { api, port }: AskedApi = ROLLOUT,
): string {
  const failure = ConnectError.from(error);
  switch (failure.code) {
    case Code.Unimplemented:
    case Code.Unknown:
      return `${label} answers, but not as ${api}: is it ${port} of a control plane? (${failure.rawMessage})`;
    case Code.Unauthenticated:
      return `${label} requires authentication: give --token-file, --cert-file or --header (${failure.rawMessage})`;
    case Code.PermissionDenied:
      return `${label} does not permit this user (${failure.rawMessage})`;
    case Code.DeadlineExceeded:
      return `Cannot reach ${label}: no answer within ${answerTimeoutMs / 1000} s`;
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Internal:
    case Code.Canceled:
      return `Cannot reach ${label}: ${reasonOf(label, failure)}${aboutProxy(label, failure)}`;
    default:
      return `${label} refuses: ${failure.rawMessage}`;
  }
}

function reasonOf(label: string, failure: ConnectError): string {
  const text = describeError(failure.cause ?? failure.rawMessage);
  const names = certificateNames(failure);
  if (names !== undefined) return `its certificate is for ${names}, which --server-name can name (${text})`;
  const known = REASONS.find(([pattern]) => pattern.test(text))?.[1];
  if (known !== undefined) return `${known} (${text})`;
  if (!/ECONNRESET|socket hang up/.test(text)) return text;
  const perhaps = label.startsWith("http:")
    ? "it requires https://"
    : "it requires a client certificate that it trusts";
  return `the connection broke, perhaps ${perhaps} (${text})`;
}

/** The hint for certificates of a proxy, for which the flags have no effect. */
function aboutProxy(label: string, failure: ConnectError): string {
  const isCertificate =
    certificateNames(failure) !== undefined || DISTRUST.test(describeError(failure.cause ?? failure.rawMessage));
  return isCertificate && label.includes(" through the proxy https:")
    ? "; where the certificate is the proxy's, NODE_EXTRA_CA_CERTS can name its authority"
    : "";
}

/** The names in a server's certificate, when the requested name is not among them. */
function certificateNames(error: unknown): string | undefined {
  let found: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && found instanceof Error; depth += 1) {
    const { code, cert } = found as NodeJS.ErrnoException & { readonly cert?: { readonly subjectaltname?: string } };
    if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return cert?.subjectaltname ?? "no name at all";
    found = found.cause;
  }
  return undefined;
}
