// Which origins may read answers (CORS) and which may make calls that change something (CSRF). Pure
// decisions; app.ts applies them.

/** The origins that matter. */
export interface OriginOptions {
  /** Origins of front ends, compared character by character. */
  readonly allowedOrigins: ReadonlySet<string>;
  /**
   * The origin under which browsers see this service; never taken from the Host header, which the
   * caller writes.
   */
  readonly publicOrigin: () => string;
  /**
   * True when cookies go along with cross-site calls (SameSite=None): then a call must say where it
   * comes from.
   */
  readonly requireOrigin: boolean;
}

/** The headers that tell where a call comes from. */
export interface CallOrigin {
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/**
 * Headers by which a page of a listed origin may read the answer; undefined for every other origin.
 */
export function corsHeaders(
  origin: string | undefined,
  options: OriginOptions,
): Readonly<Record<string, string>> | undefined {
  if (origin === undefined || !options.allowedOrigins.has(origin)) return undefined;
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset",
  };
}

/** What a preflight of a listed origin is told besides. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": "Content-Type, X-Request-Id",
  "Access-Control-Max-Age": "600",
};

/**
 * Whether a call that changes something may proceed. Browsers say with Sec-Fetch-Site whether it
 * comes from this very origin; older ones send only Origin; what sends neither is no browser and
 * carries no foreign cookies.
 */
export function isCallAllowed({ origin, secFetchSite }: CallOrigin, options: OriginOptions): boolean {
  if (secFetchSite === "same-origin" || secFetchSite === "none") return true;
  if (origin !== undefined)
    return options.allowedOrigins.has(origin) || (origin !== "null" && origin === options.publicOrigin());
  return secFetchSite === undefined && !options.requireOrigin;
}
