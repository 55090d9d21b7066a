// The cookies in requests and answers: the two of the session, and the one of the device.
import type { Request, Response } from "express";
import { clearCookie, type CookieOptions, readCookie, serializeCookie } from "../sessions/cookies.ts";
import { type AccountHolder, DEVICE_COOKIE_SECONDS, issueDeviceToken } from "../sessions/device-cookie.ts";
import type { AccountDeps } from "../users/account-deps.ts";
import type { SessionCookies } from "../users/cookie-claims.ts";

/** The cookies of a call. */
export function readSessionCookies({ headers: { cookie } }: Request, cookies: CookieOptions): SessionCookies {
  return {
    access: readCookie(cookie, "access", cookies),
    refresh: readCookie(cookie, "refresh", cookies),
    mustAgree: cookies.scope === "path",
  };
}

/** Removes both cookies from the browser. */
export function clearSessionCookies(response: Response, cookies: CookieOptions): void {
  response.setHeader("Set-Cookie", [clearCookie("access", cookies), clearCookie("refresh", cookies)]);
}

/** The value of Set-Cookie that makes the browser a known one of the holder. */
export function deviceCookie(
  { labelKey, clock }: Pick<AccountDeps, "labelKey" | "clock">,
  holder: AccountHolder,
  cookies: CookieOptions,
): string {
  return serializeCookie("device", issueDeviceToken(labelKey, holder, clock()), DEVICE_COOKIE_SECONDS, cookies);
}
