// Decides which origins may read answers (CORS) and which may make calls that change something
// (CSRF). Pure; app.ts applies the decisions.

/** The known origins. */
export interface OriginOptions {
  /** Origins of front ends, compared character by character. */
  readonly allowedOrigins: ReadonlySet<string>;
  /**
   * The origin under which browsers see this service; never taken from the Host header, which the
   * caller writes.
   */
  readonly publicOrigin: () => string;
  /**
   * True when browsers send cookies with cross-site calls (SameSite=None): then a call must have an
   * origin.
   */
  readonly requireOrigin: boolean;
}

/** The headers with the origin of a call. */
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

/** Further headers for a preflight of a listed origin. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers": "Content-Type, X-Request-Id, traceparent, tracestate",
  "Access-Control-Max-Age": "600",
};

/**
 * Returns true if a call that changes something may proceed. Browsers send Sec-Fetch-Site, older ones
 * only Origin; a client that sends neither is no browser and has no foreign cookies.
 */
export function isCallAllowed({ origin, secFetchSite }: CallOrigin, options: OriginOptions): boolean {
  if (secFetchSite === "same-origin" || secFetchSite === "none") return true;
  if (origin !== undefined)
    return options.allowedOrigins.has(origin) || (origin !== "null" && origin === options.publicOrigin());
  return secFetchSite === undefined && !options.requireOrigin;
}
