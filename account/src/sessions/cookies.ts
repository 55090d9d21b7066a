// The cookies as text, two of the session and one of the device: names, attributes, parsing of the
// Cookie header. Pure; http/ puts the text on the wire.

/**
 * Path of every call that reads the refresh cookie; it scopes the cookie with `COOKIE_SCOPE=path`.
 */
const REFRESH_PATH = "/api/v1/user";

/** How cookies are sent. */
export interface CookieOptions {
  /**
   * `host`: `__Host-` and Path=/ for all. `path`: the refresh cookie is `__Secure-` and only sent
   * to the account calls.
   */
  readonly scope: "host" | "path";
  readonly sameSite: "strict" | "lax" | "none";
  /** Drops prefix and Secure, for browsers that refuse them on plain http. Never in production. */
  readonly insecureDevelopment: boolean;
}

/** Which cookie: the tokens of the session, or the mark of a browser that has logged in before. */
export type CookieKind = "access" | "refresh" | "device";

const NAMES: Readonly<Record<CookieKind, string>> = {
  access: "accessToken",
  refresh: "refreshToken",
  device: "device",
};

/** One name in a Cookie header. */
export type CookieRead =
  { readonly kind: "absent" } | { readonly kind: "present"; readonly value: string } | { readonly kind: "duplicate" }; // A second one was planted: which is ours is unknown, so neither counts.

/** The cookie's exact name. Browsers match the prefixes in any case; the service must not. */
export function cookieName(kind: CookieKind, options: CookieOptions): string {
  const name = NAMES[kind];
  if (options.insecureDevelopment) return name;
  return kind === "refresh" && options.scope === "path" ? `__Secure-${name}` : `__Host-${name}`;
}

/** The value of Set-Cookie that stores `token` for `maxAgeSeconds`. */
export function serializeCookie(
  kind: CookieKind,
  token: string,
  maxAgeSeconds: number,
  options: CookieOptions,
): string {
  return `${cookieName(kind, options)}=${token}; Max-Age=${String(Math.max(0, Math.floor(maxAgeSeconds)))}${attributes(kind, options)}`;
}

/**
 * The value of Set-Cookie that removes the cookie; path and attributes are those of the cookie, or
 * browsers keep it.
 */
export function clearCookie(kind: CookieKind, options: CookieOptions): string {
  return serializeCookie(kind, "", 0, options);
}

/**
 * Reads one cookie from a Cookie header (RFC 6265 section 5.4; Node joins several headers with ";
 * "). Blanks and tabs before a name are dropped, no other white space: to browsers it is part of a name without a
 * prefix, which other hosts of the site may set.
 */
export function readCookie(header: string | undefined, kind: CookieKind, options: CookieOptions): CookieRead {
  const name = cookieName(kind, options);
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.replace(/^[ \t]+/, ""))
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  if (values.length > 1) return { kind: "duplicate" };
  return value === undefined || value === "" ? { kind: "absent" } : { kind: "present", value };
}

function attributes(kind: CookieKind, options: CookieOptions): string {
  const path = kind === "refresh" && options.scope === "path" ? REFRESH_PATH : "/";
  const sameSite = { strict: "Strict", lax: "Lax", none: "None" }[options.sameSite];
  return `; Path=${path}${options.insecureDevelopment ? "" : "; Secure"}; HttpOnly; SameSite=${sameSite}`;
}
