// Parses the address and the credentials of a server from KVSTORE_URL, KVSTORE_SOCKET_TYPE and
// KVSTORE_AUTH.
import { parseHostPort } from "@weir/common/net/host-port";
import { formatAddress } from "@weir/common/net/listen";
import { Secret } from "@weir/common/settings/secret";
import type { RedisServerOptions } from "./options.ts";

/** Port of a URL that names none. */
const DEFAULT_PORT = 6379;

/**
 * `redis://user:password@host:port/database`; the password may contain an "@", so the last one
 * counts.
 */
const REDIS_URL = /^(?<scheme>rediss?):\/\/(?:(?<credentials>.*)@)?(?<place>[^@/?#]*)(?:\/(?<database>\d*))?$/i;

/** The scheme of any URL. */
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Most servers in a list. */
const LIST_MAX = 1000;

/** The present arguments of AUTH: a password, or a user and a password. */
export type Credentials = () => readonly Secret[];

/** The address of a server, and how to authenticate there. */
export interface RedisAddress {
  readonly target:
    | { readonly kind: "unix"; readonly path: string }
    | { readonly kind: "tcp"; readonly host: string; readonly port: number };
  /** True when the URL itself asks for TLS (`rediss://`). */
  readonly isTls: boolean;
  /** Asked for each connection; undefined = none. */
  readonly auth: Credentials | undefined;
  readonly database: number;
  /** The server for messages, without credentials. */
  readonly text: string;
}

/** An address, or what is wrong with the settings: a text without secrets. */
export type ParsedAddress =
  { readonly ok: true; readonly address: RedisAddress } | { readonly ok: false; readonly problem: string };

/** The address of a single server. */
export function parseAddress(options: Pick<RedisServerOptions, "socketType" | "url" | "auth">): ParsedAddress {
  const url = options.url.reveal();
  const auth = options.auth === undefined ? undefined : parseAuth(options.auth);
  if (/^unix:\/\//i.test(url) || (options.socketType === "unix" && !SCHEME.test(url))) return parsePath(url, auth);
  return parseTcpAddress(() => options.url.reveal(), auth, DEFAULT_PORT);
}

/**
 * The addresses of a list of servers, separated by commas: at least one. `auth` wins over the URLs;
 * `defaultPort` is that of servers without one. Of a later list only credentials are used.
 */
export function parseAddressList(
  list: () => string,
  auth: Credentials | undefined,
  defaultPort: number = DEFAULT_PORT,
):
  | { readonly ok: true; readonly addresses: readonly RedisAddress[] }
  | { readonly ok: false; readonly problem: string } {
  const textsNow = (): readonly string[] =>
    list()
      .split(",")
      .map((text) => text.trim());
  const texts = textsNow();
  if (texts.length > LIST_MAX) return { ok: false, problem: `it holds more than ${LIST_MAX} servers` };
  const addresses: RedisAddress[] = [];
  for (const index of texts.keys()) {
    const parsed = parseTcpAddress(() => textsNow()[index] ?? "", auth, defaultPort);
    if (!parsed.ok)
      return {
        ok: false,
        problem: `${parsed.problem}, for each server of the list; number ${addresses.length + 1} is not`,
      };
    addresses.push(parsed.address);
  }
  return { ok: true, addresses };
}

/** The arguments of AUTH from `password` or `user:password`, split at the first colon. */
export function parseAuth(auth: Secret): Credentials {
  return () => {
    const text = auth.reveal();
    const at = text.indexOf(":");
    return at === -1 ? [auth] : [new Secret(text.slice(0, at)), new Secret(text.slice(at + 1))];
  };
}

/**
 * The address of a server that another one has named. Its credentials and TLS are those of the
 * setting's own servers.
 */
export function addressOf(
  place: { readonly host: string; readonly port: number },
  like: Pick<RedisAddress, "isTls" | "auth" | "database">,
): RedisAddress {
  const { isTls, auth, database } = like;
  return {
    target: { kind: "tcp", host: place.host, port: place.port },
    isTls,
    auth,
    database,
    text: formatAddress(place),
  };
}

function parseTcpAddress(urlNow: () => string, auth: Credentials | undefined, defaultPort: number): ParsedAddress {
  const url = urlNow();
  if (SCHEME.test(url)) return parseRedisUrl(urlNow, auth, defaultPort);
  const place = parsePlace(url, defaultPort);
  if (place === undefined)
    return {
      ok: false,
      problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp",
    };
  return { ok: true, address: addressOf(place, { isTls: false, auth, database: 0 }) };
}

function parsePath(url: string, auth: Credentials | undefined): ParsedAddress {
  const path = url.replace(/^unix:\/\//i, "");
  if (path === "") return { ok: false, problem: "it must be the path of a unix socket, and it is empty" };
  if (/^[^/]*:\d+$/.test(path))
    return { ok: false, problem: "it must be the path of a unix socket; for host:port set the socket type to tcp" };
  // Text before an "@" may be a password in an address without scheme, and messages contain paths.
  if (/^[^./].*@/s.test(path))
    return {
      ok: false,
      problem: 'it must be the path of a unix socket, which begins with "/" or "./" where it holds an "@"',
    };
  return { ok: true, address: { target: { kind: "unix", path }, isTls: false, auth, database: 0, text: path } };
}

function parseRedisUrl(urlNow: () => string, auth: Credentials | undefined, defaultPort: number): ParsedAddress {
  const groups = REDIS_URL.exec(urlNow())?.groups;
  const place = groups === undefined ? undefined : parsePlace(groups["place"] ?? "", defaultPort);
  if (groups === undefined || place === undefined) {
    return {
      ok: false,
      problem: "it must be redis://host:port, redis://user:password@host:port or either with /database",
    };
  }
  const first = parseUrlCredentials(groups["credentials"]);
  const credentials =
    first && ((): readonly Secret[] => parseUrlCredentials(REDIS_URL.exec(urlNow())?.groups?.["credentials"]) ?? first);
  const isTls = groups["scheme"]?.toLowerCase() === "rediss";
  return {
    ok: true,
    address: addressOf(place, { isTls, auth: auth ?? credentials, database: Number(groups["database"] ?? 0) }),
  };
}

/** The same from a URL, where parts are percent-encoded and an empty user means none. */
function parseUrlCredentials(credentials: string | undefined): readonly Secret[] | undefined {
  if (credentials === undefined) return undefined;
  const at = credentials.indexOf(":");
  const user = decode(at === -1 ? credentials : credentials.slice(0, at));
  const password = at === -1 ? "" : decode(credentials.slice(at + 1));
  if (password === "") return undefined;
  return user === "" ? [new Secret(password)] : [new Secret(user), new Secret(password)];
}

/** Percent-decoded where that is possible; a plain "%" in a password stays. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not percent-encoded: taken literally.
  }
}

function parsePlace(text: string, defaultPort: number): { readonly host: string; readonly port: number } | undefined {
  const parts = parseHostPort(text);
  const { host = "localhost", port = defaultPort } = parts ?? {};
  return parts === undefined || port === 0 ? undefined : { host, port };
}
