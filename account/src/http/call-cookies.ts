// The cookies in requests and answers: the two of the session, and the one of the device.
import type { Request, Response } from "express";
import { clearCookie, type CookieKind, type CookieOptions, readCookie, serializeCookie } from "../sessions/cookies.ts";
import { type AccountHolder, DEVICE_COOKIE_SECONDS, issueDeviceToken } from "../sessions/device-cookie.ts";
import type { AccountDeps } from "../users/account-deps.ts";
import type { SessionCookies } from "../users/cookie-claims.ts";
import type { IssuedToken } from "../users/issue-tokens.ts";
import type { SessionTokens } from "../users/open-session.ts";
import type { Refreshed } from "../users/refresh.ts";

/** The values of Sec-Fetch-Site with which browsers send all cookies; from other sites they keep those of SameSite. */
const SITES_WITH_COOKIES = ["none", "same-origin", "same-site"];

/** The cookies of a call. */
export function readSessionCookies({ headers: { cookie } }: Request, cookies: CookieOptions): SessionCookies {
  return {
    access: readCookie(cookie, "access", cookies),
    refresh: readCookie(cookie, "refresh", cookies),
    mustAgree: cookies.scope === "path",
  };
}

/** False when the request shows that its browser has no session. */
export function mayHaveSession(request: Request, options: CookieOptions): boolean {
  const { access, refresh } = readSessionCookies(request, options);
  const isSeen = SITES_WITH_COOKIES.includes(request.get("sec-fetch-site") ?? "");
  return !isSeen || access.kind !== "absent" || refresh.kind !== "absent";
}

/** Removes both cookies from the browser. */
export function clearSessionCookies(response: Response, cookies: CookieOptions): void {
  response.setHeader("Set-Cookie", [clearCookie("access", cookies), clearCookie("refresh", cookies)]);
}

/**
 * The values of Set-Cookie for new tokens of a session. Both cookies live until the refresh token ends. The access
 * token ends before its cookie, so that a browser keeps sending it and receives `token_expired`.
 */
export function sessionCookies(
  { clock }: Pick<AccountDeps, "clock">,
  tokens: SessionTokens | Pick<Refreshed, "access" | "refresh" | "refreshExpiresAtMs">,
  cookies: CookieOptions,
): string[] {
  const { access, refresh } = tokens;
  const endsAtMs = "refreshExpiresAtMs" in tokens ? tokens.refreshExpiresAtMs : tokens.refresh.expiresAtMs;
  const maxAgeSeconds = Math.ceil((endsAtMs - clock()) / 1000);
  const cookie = (kind: CookieKind, { token }: IssuedToken): string =>
    serializeCookie(kind, token, maxAgeSeconds, cookies);
  return refresh === undefined ? [cookie("access", access)] : [cookie("access", access), cookie("refresh", refresh)];
}

/** The value of Set-Cookie that makes the browser a known one of the holder. */
export function deviceCookie(
  { labelKey, clock }: Pick<AccountDeps, "labelKey" | "clock">,
  holder: AccountHolder,
  cookies: CookieOptions,
): string {
  return serializeCookie("device", issueDeviceToken(labelKey, holder, clock()), DEVICE_COOKIE_SECONDS, cookies);
}
