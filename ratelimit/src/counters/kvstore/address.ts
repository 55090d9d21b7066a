// Where a store is and how to introduce oneself there, from KVSTORE_URL, KVSTORE_SOCKET_TYPE and KVSTORE_AUTH. Pure: nothing is looked up.
import { Secret } from "@weir/common/settings/secret";
import type { KvstoreServerOptions } from "./options.ts";

/** Port of a URL that names none. */
const DEFAULT_PORT = 6379;

/** Highest TCP port. */
const PORT_MAX = 65_535;

/** `redis://user:password@host:port/database`; the password may hold an "@", so the last one counts. */
const REDIS_URL = /^(?<scheme>rediss?):\/\/(?:(?<credentials>.*)@)?(?<place>[^@/?#]*)(?:\/(?<database>\d*))?$/;

/** `host:port`, `[::1]:port`, `host` or `:port`. */
const HOST_PORT = /^(?:\[(?<six>[0-9a-fA-F:.%]+)\]|(?<host>[^:[\]/@\s]*))(?::(?<port>\d{1,5}))?$/;

/** A server and what to say to it. */
export interface KvstoreAddress {
  readonly target:
    { readonly kind: "unix"; readonly path: string } | { readonly kind: "tcp"; readonly host: string; readonly port: number };
  /** True when the URL itself asks for TLS (`rediss://`). */
  readonly isTls: boolean;
  /** Arguments of AUTH: a password, or a user and a password; undefined = none. */
  readonly auth: readonly Secret[] | undefined;
  readonly database: number;
  /** The server for messages: no credentials in it. */
  readonly text: string;
}

/** The address, or what is wrong with the settings: a text that holds no secret. */
export function parseAddress(
  options: Pick<KvstoreServerOptions, "socketType" | "url" | "auth">,
): { readonly ok: true; readonly address: KvstoreAddress } | { readonly ok: false; readonly problem: string } {
  const url = options.url.reveal();
  const auth = options.auth === undefined ? undefined : parseAuth(options.auth.reveal());
  if (/^[a-z]+:\/\//.test(url) && !url.startsWith("unix://")) return parseRedisUrl(url, auth);
  if (url.startsWith("unix://") || options.socketType === "unix") return parsePath(url, auth);
  const place = parsePlace(url);
  if (place === undefined)
    return { ok: false, problem: "it must be host:port or redis://user:password@host:port/database for the socket type tcp" };
  return { ok: true, address: { target: { kind: "tcp", ...place }, isTls: false, auth, database: 0, text: textOf(place) } };
}

function parsePath(url: string, auth: readonly Secret[] | undefined): ReturnType<typeof parseAddress> {
  const path = url.replace(/^unix:\/\//, "");
  if (path === "") return { ok: false, problem: "it must be the path of a unix socket, and it is empty" };
  if (/^[^/]*:\d+$/.test(path))
    return { ok: false, problem: "it must be the path of a unix socket; for host:port set the socket type to tcp" };
  return { ok: true, address: { target: { kind: "unix", path }, isTls: false, auth, database: 0, text: path } };
}

function parseRedisUrl(url: string, auth: readonly Secret[] | undefined): ReturnType<typeof parseAddress> {
  const groups = REDIS_URL.exec(url)?.groups;
  const place = groups === undefined ? undefined : parsePlace(groups["place"] ?? "");
  if (groups === undefined || place === undefined) {
    return { ok: false, problem: "it must be redis://host:port, redis://user:password@host:port or either with /database" };
  }
  const credentials = groups["credentials"] === undefined ? undefined : parseUrlCredentials(groups["credentials"]);
  return {
    ok: true,
    address: {
      target: { kind: "tcp", ...place },
      isTls: groups["scheme"] === "rediss",
      auth: auth ?? credentials,
      database: Number(groups["database"] ?? 0),
      text: textOf(place),
    },
  };
}

/** `password` or `user:password`, split at the first colon. */
function parseAuth(auth: string): readonly Secret[] {
  const at = auth.indexOf(":");
  return at === -1 ? [new Secret(auth)] : [new Secret(auth.slice(0, at)), new Secret(auth.slice(at + 1))];
}

/** The same in a URL, where parts are percent-encoded and an empty user means none. */
function parseUrlCredentials(credentials: string): readonly Secret[] | undefined {
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
    return text; // Not percent-encoded, so it means itself.
  }
}

function parsePlace(text: string): { readonly host: string; readonly port: number } | undefined {
  const groups = HOST_PORT.exec(text)?.groups;
  if (groups === undefined || text === "") return undefined;
  const port = Number(groups["port"] ?? DEFAULT_PORT);
  if (port < 1 || port > PORT_MAX) return undefined;
  const host = groups["six"] ?? groups["host"] ?? "";
  return { host: host === "" ? "localhost" : host, port };
}

function textOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
