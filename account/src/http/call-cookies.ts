// The two cookies of the session in requests and answers.
import type { Request, Response } from "express";
import { clearCookie, type CookieOptions, readCookie } from "../sessions/cookies.ts";
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
