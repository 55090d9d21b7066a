// The claims of the tokens in a call's cookies, or the error that the call ends with.
import { AccountError } from "../errors.ts";
import type { CookieRead } from "../sessions/cookies.ts";
import type { AccessClaims, RefreshClaims, TokenCheck } from "../sessions/tokens.ts";
import type { AccountDeps } from "./account-deps.ts";

/** The cookies of a call. */
export interface SessionCookies {
  readonly access: CookieRead;
  readonly refresh: CookieRead;
  /** The token of the refresh cookie, when an earlier step of the call has verified it. */
  readonly refreshCheck?: TokenCheck<RefreshClaims> | undefined;
  /**
   * True when other hosts of the site could plant one of the two cookies, so that both must name
   * the same session.
   */
  readonly mustAgree: boolean;
}

/**
 * The claims of the access cookie. Rejects with `not_authenticated`, `token_expired` or
 * `token_invalid`.
 */
export async function readAccessClaims(
  { tokens }: Pick<AccountDeps, "tokens">,
  cookies: SessionCookies,
  nowMs: number,
): Promise<AccessClaims> {
  const claims = claimsOf(await tokens.verifyAccess(cookieValue(cookies.access), nowMs));
  if (cookies.mustAgree && cookies.refresh.kind !== "absent")
    refuseOther(await tokens.verifyRefresh(cookieValue(cookies.refresh), nowMs), claims.sessionId);
  return claims;
}

/** The claims of the refresh cookie. Rejects like `readAccessClaims`. */
export async function readRefreshClaims(
  { tokens }: Pick<AccountDeps, "tokens">,
  cookies: SessionCookies,
  nowMs: number,
): Promise<RefreshClaims> {
  const check = cookies.refreshCheck ?? (await tokens.verifyRefresh(cookieValue(cookies.refresh), nowMs));
  const claims = claimsOf(check);
  if (cookies.mustAgree && cookies.access.kind !== "absent")
    refuseOther(await tokens.verifyAccess(cookieValue(cookies.access), nowMs), claims.sessionId);
  return claims;
}

/** The error for a token that is none of this service, or not one of its session. */
export function tokenInvalid(details: { readonly clearCookies?: boolean } = {}): AccountError {
  return new AccountError("token_invalid", "Your session is not valid. Log in again.", details);
}

/**
 * The error for a token whose session has ended, or whose user is gone. The call that ended it, such as a login or a
 * change of the password in another tab, may have given the browser new cookies since this one was sent: they stay.
 */
export function sessionRevoked(): AccountError {
  return new AccountError("session_revoked", "Your session has ended. Log in again.", { clearCookies: false });
}

/** Refuses a call whose other cookie belongs to another session; an invalid one is ignored. */
function refuseOther(other: TokenCheck<{ readonly sessionId: string }>, sessionId: string): void {
  if (other.ok && other.claims.sessionId !== sessionId) throw tokenInvalid({ clearCookies: true });
}

function cookieValue(cookie: CookieRead): string {
  if (cookie.kind === "present") return cookie.value;
  if (cookie.kind === "duplicate") throw tokenInvalid({ clearCookies: true });
  // A login in another tab may have set cookies since.
  throw new AccountError("not_authenticated", "You are not logged in.", { clearCookies: false });
}

function claimsOf<Claims>(check: TokenCheck<Claims>): Claims {
  if (check.ok) return check.claims;
  if (check.reason === "expired") throw new AccountError("token_expired", "Your session needs a refresh.");
  // A clock is wrong, and with a right one the cookie works.
  throw tokenInvalid(check.reason === "early" ? { clearCookies: false } : {});
}
