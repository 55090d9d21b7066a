// The flags of `weir rollout` that say how its servers are reached: whom to trust, and who asks. No
// file is opened here. Pure.
import { isIP } from "node:net";

import type { FlagTable, ReadFlags } from "../command-line/read-flags.ts";

/** A name of a header (RFC 9110), and what it may hold: one line of visible characters. */
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\u0020-\u007e]*)$/;

/** Headers that the protocol needs for itself. */
const OWN_HEADERS =
  /^(content-.*|transfer-encoding|connection|upgrade|te|trailer|expect|accept-encoding|connect-.*|grpc-.*)$/i;

/** Headers that let in whoever reads them on the way. */
const SECRET_HEADERS = /^(authorization|proxy-authorization|cookie)$/i;

/** How the servers are reached. */
export interface ServerAccess {
  /** Certificates of the authorities to trust instead of the public ones. */
  readonly caFile?: string;
  /** Certificate and key to show. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The name that a server's certificate must be for, instead of the one in the URL. */
  readonly serverName?: string;
  readonly tokenFile?: string;
  /** What was read of `tokenFile`, when it cannot be read again. */
  readonly token?: string;
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

/** What `weir rollout --help` says of them. */
export const ACCESS_HELP = `  --ca-file FILE
      Certificates (PEM) of the authorities that may vouch for an https:// server. No other is trusted
      then; without it those are that this machine trusts.
  --cert-file FILE, --key-file FILE
      Certificate and private key (PEM) to show to an https:// server that asks for them.
  --server-name NAME
      The name that the server's certificate must be for, where the URL says another one: behind
      kubectl port-forward, for example.
  --token-file FILE
      Sends what the file holds as bearer token, over https:// or to this machine only. A file is
      read again for every connection, a pipe once.
  -H, --header 'NAME: VALUE'
      Sends a header with every request. May be repeated. Authorization and Cookie are sent as a token is:
      over https:// or to this machine only.

  HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment are heeded as by kubectl.
`;

/** What the flags say about servers, given as URLs; a text says what is wrong. */
export function readAccess(
  flags: Extract<ReadFlags, { readonly ok: true }>,
  servers: readonly string[],
): ServerAccess | string {
  const given = (name: keyof typeof ACCESS_FLAGS): string | undefined => flags.last(name);
  for (const name of Object.keys(ACCESS_FLAGS)) if (flags.last(name) === "") return `--${name} must not be empty`;
  const [certFile, keyFile, serverName, tokenFile] = [
    given("cert-file"),
    given("key-file"),
    given("server-name"),
    given("token-file"),
  ];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    return certFile === undefined ? "--key-file needs --cert-file" : "--cert-file needs --key-file";
  }
  const forTls = (["ca-file", "cert-file", "server-name"] as const).find((name) => given(name) !== undefined);
  if (forTls !== undefined && !servers.some(isEncrypted))
    return `--${forTls} is for servers with https://, there is none among ${servers.join(", ")}`;
  if (serverName !== undefined && isIP(serverName) !== 0)
    return `--server-name must be a name, is the address ${JSON.stringify(serverName)}`;
  const open = servers.find((server) => !isEncrypted(server) && !isThisMachine(server));
  if (tokenFile !== undefined && open !== undefined)
    return `--token-file is for servers with https:// or on this machine: ${open} would get the token in the clear`;
  const headers: (readonly [string, string])[] = [];
  for (const text of flags.all("header")) {
    const [, name, value] = HEADER.exec(text) ?? [];
    // The value may be a secret: it is not repeated, nor is a text without a colon, which may be
    // all secret.
    if (name === undefined || value === undefined)
      return `a header must be 'NAME: VALUE', ${text.includes(":") ? `is ${JSON.stringify(text.replace(/:.*/s, ": …"))}` : "one has no colon"}`;
    if (OWN_HEADERS.test(name)) return `the header ${name} is the protocol's own`;
    if (tokenFile !== undefined && name.toLowerCase() === "authorization")
      return "--token-file and the header authorization do not go together";
    if (open !== undefined && SECRET_HEADERS.test(name))
      return `the header ${name} is for servers with https:// or on this machine: ${open} would get it in the clear`;
    headers.push([name, value.trimEnd()]);
  }
  const caFile = given("ca-file");
  return {
    ...(caFile !== undefined && { caFile }),
    ...(certFile !== undefined && { certFile }),
    ...(keyFile !== undefined && { keyFile }),
    ...(serverName !== undefined && { serverName }),
    ...(tokenFile !== undefined && { tokenFile }),
    headers,
  };
}

function isEncrypted(server: string): boolean {
  return server.startsWith("https:");
}

function isThisMachine(server: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(server).hostname);
}
