// The headers of pages that programs serve on this machine.

/**
 * The policy of a page that loads its own files, asks its own server, and is in no other page. `imageSources` has where
 * its images come from in addition.
 */
export function contentSecurityPolicy(imageSources: readonly string[] = []): string {
  return [
    "default-src 'none'",
    ...["script-src", "style-src", "connect-src"].map((what) => `${what} 'self'`),
    ["img-src 'self'", ...imageSources].join(" "),
    ...["base-uri", "form-action", "frame-ancestors"].map((what) => `${what} 'none'`),
    "require-trusted-types-for 'script'",
  ].join("; ");
}

/** The headers that browsers need with each file of a page. */
export const PAGE_HEADERS = {
  "Content-Security-Policy": contentSecurityPolicy(),
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
} as const;
