// The flags of `weir rollout` for TLS, tokens and headers. Pure; credentials.ts reads the files.
import { isIP } from "node:net";

import type { FlagTable, ReadFlags } from "../command-line/read-flags.ts";

/** The name of a header (RFC 9110), and its value: one line of visible characters. */
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\u0020-\u007e]*)$/;

/** Headers that the protocol sets itself. */
const OWN_HEADERS =
  /^(content-.*|transfer-encoding|connection|upgrade|te|trailer|expect|accept-encoding|connect-.*|grpc-.*)$/i;

/** Headers with credentials. */
const SECRET_HEADERS = /^(authorization|proxy-authorization|cookie)$/i;

/** How the servers are reached. */
export interface ServerAccess {
  /** Certificates of the authorities to trust instead of the public ones. */
  readonly caFile?: string | undefined;
  /** Client certificate and key. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** The name that a server's certificate must have, instead of the one in the URL. */
  readonly serverName?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The content of `tokenFile`, when it cannot be read again. */
  readonly token?: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The flags, for the reader of the command line. */
export const ACCESS_FLAGS = {
  "ca-file": { type: "string" },
  "cert-file": { type: "string" },
  "key-file": { type: "string" },
  "server-name": { type: "string" },
  "token-file": { type: "string" },
  header: { type: "string", short: "H" },
} as const satisfies FlagTable;

/** The flags in `weir rollout --help`. */
export const ACCESS_HELP = `  --ca-file FILE
      Certificates (PEM) of the authorities to trust for https:// servers. No other authority is
      trusted then; without it those that this machine trusts are.
  --cert-file FILE, --key-file FILE
      Client certificate and private key (PEM) for https:// servers that require them.
  --server-name NAME
      The name that the server's certificate must have, where the URL has another one: behind
      kubectl port-forward, for example.
  --token-file FILE
      Sends the content of the file as bearer token, over https:// or to this machine only. A file
      is read again for every connection, a pipe once.
  -H, --header 'NAME: VALUE'
      Sends a header with every request. May be repeated. Authorization and Cookie are sent as a token is:
      over https:// or to this machine only.

  HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment are heeded as by kubectl.
`;

/** Reads the flags for servers, given as URLs; a text is the problem. */
export function readAccess(flags: ReadFlags, servers: readonly string[]): ServerAccess | string {
  for (const name of Object.keys(ACCESS_FLAGS)) if (flags.last(name) === "") return `--${name} must not be empty`;
  const files = {
    caFile: flags.last("ca-file"),
    certFile: flags.last("cert-file"),
    keyFile: flags.last("key-file"),
    serverName: flags.last("server-name"),
    tokenFile: flags.last("token-file"),
  };
  if (files.certFile === undefined && files.keyFile !== undefined) return "--key-file needs --cert-file";
  if (files.certFile !== undefined && files.keyFile === undefined) return "--cert-file needs --key-file";
  const forTls = ["ca-file", "cert-file", "server-name"].find((name) => flags.last(name) !== undefined);
  if (forTls !== undefined && !servers.some(isEncrypted))
    return `--${forTls} is for servers with https://, there is none among ${servers.join(", ")}`;
  if (files.serverName !== undefined && isIP(files.serverName) !== 0)
    return `--server-name must be a name, is the address ${JSON.stringify(files.serverName)}`;
  const open = servers.find((server) => !isEncrypted(server) && !isThisMachine(server));
  if (files.tokenFile !== undefined && open !== undefined)
    return `--token-file is for servers with https:// or on this machine: ${open} would get the token in the clear`;
  const headers = readHeaders(flags.all("header"), { open, hasToken: files.tokenFile !== undefined });
  return typeof headers === "string" ? headers : { ...files, headers };
}

/** `open` is a server that would get headers in the clear. */
function readHeaders(
  texts: readonly string[],
  { open, hasToken }: { readonly open: string | undefined; readonly hasToken: boolean },
): ServerAccess["headers"] | string {
  const headers: (readonly [string, string])[] = [];
  for (const text of texts) {
    const [, name, value] = HEADER.exec(text) ?? [];
    // The value may be a secret, and so may a text without a colon: they are not repeated.
    if (name === undefined || value === undefined)
      return `a header must be 'NAME: VALUE', ${text.includes(":") ? `is ${JSON.stringify(text.replace(/:.*/s, ": …"))}` : "one has no colon"}`;
    if (OWN_HEADERS.test(name)) return `the header ${name} is the protocol's own`;
    if (hasToken && name.toLowerCase() === "authorization")
      return "--token-file and the header authorization do not go together";
    if (open !== undefined && SECRET_HEADERS.test(name))
      return `the header ${name} is for servers with https:// or on this machine: ${open} would get it in the clear`;
    headers.push([name, value.trimEnd()]);
  }
  return headers;
}

function isEncrypted(server: string): boolean {
  return server.startsWith("https:");
}

function isThisMachine(server: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(server).hostname);
}
