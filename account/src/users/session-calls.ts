// The calls of a signed-in user: current user, refresh, log out. Each checks its token and then the
// stored session, so that the end of a session takes effect immediately.
import { AccountError } from "../errors.ts";
import type { CookieRead } from "../sessions/cookies.ts";
import {
  findLiveSession,
  isCurrentToken,
  newestTokenHash,
  type SessionRecord,
  withoutSession,
  withUse,
} from "../sessions/session-records.ts";
import type { TokenCheck } from "../sessions/tokens.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { issueAccessToken, type IssuedToken } from "./issue-tokens.ts";
import { accountLabel } from "./public-user.ts";
import { changeOfSessions, updateUser } from "./update-user.ts";

/** The cookies of a call. */
export interface SessionCookies {
  readonly access: CookieRead;
  readonly refresh: CookieRead;
  /**
   * True when other hosts of the site could plant one of the two cookies, so that both must name
   * the same session.
   */
  readonly mustAgree: boolean;
}

/** The signed-in user and the session. */
export interface SignedIn {
  readonly user: UserRecord;
  readonly session: SessionRecord;
}

/**
 * The user and session of the access cookie. Rejects with `not_authenticated`, `token_expired`,
 * `token_invalid` or `session_revoked`.
 */
export async function authenticate(deps: AccountDeps, cookies: SessionCookies): Promise<SignedIn> {
  const nowMs = deps.clock();
  const claims = claimsOf(await deps.tokens.verifyAccess(cookieValue(cookies.access), nowMs));
  if (cookies.mustAgree && cookies.refresh.kind !== "absent") {
    refuseOther(await deps.tokens.verifyRefresh(cookieValue(cookies.refresh), nowMs), claims.sessionId);
  }
  return findSession(deps, claims.userId, claims.sessionId, nowMs);
}

/** The result of a refresh. */
export interface Refreshed {
  readonly access: IssuedToken;
  readonly refreshExpiresAtMs: number;
}

/**
 * A new access token for a refresh token that is the current one of a stored session. Rejects like
 * `authenticate`.
 */
export async function refresh(deps: AccountDeps, options: AccountOptions, cookies: SessionCookies): Promise<Refreshed> {
  const nowMs = deps.clock();
  const claims = claimsOf(await deps.tokens.verifyRefresh(cookieValue(cookies.refresh), nowMs));
  if (cookies.mustAgree && cookies.access.kind !== "absent") {
    refuseOther(await deps.tokens.verifyAccess(cookieValue(cookies.access), nowMs), claims.sessionId);
  }
  const { user, session } = await findSession(deps, claims.userId, claims.sessionId, nowMs);
  if (session.generation !== claims.generation || !isCurrentToken(session, claims.tokenId) || !isNewestConsistent(user))
    throw tokenInvalid(false);
  const change = changeOfSessions(user, withUse(user.sessions, session.id, nowMs), nowMs);
  // A lost race is another call of the same user, and only matters if it ended the session.
  const result = await deps.store.update(user.id, user.revision, change);
  if (result !== "updated") await findSession(deps, user.id, session.id, nowMs);
  return {
    access: await issueAccessToken(deps, options, user.id, session),
    refreshExpiresAtMs: session.idleExpiresAtMs,
  };
}

/** Ends the session; its tokens are no longer valid. */
export async function logOut(deps: AccountDeps, { user, session }: SignedIn, caller: Caller): Promise<void> {
  const nowMs = deps.clock();
  await updateUser(deps.store, user.id, (current) =>
    changeOfSessions(current, withoutSession(current.sessions, session.id), nowMs),
  );
  caller.log.info("Logged out", { account: accountLabel(deps.idKey(), user.emailKey), session: session.id });
}

/**
 * The refresh token of the record itself is the newest session's; a record where they differ was
 * not written by this service.
 */
function isNewestConsistent(user: UserRecord): boolean {
  return user.refreshToken === newestTokenHash(user.sessions);
}

async function findSession(deps: AccountDeps, userId: string, sessionId: string, nowMs: number): Promise<SignedIn> {
  const user = await deps.store.findById(userId);
  const session = user === undefined ? undefined : findLiveSession(user.sessions, sessionId, nowMs);
  if (user === undefined || session === undefined)
    throw new AccountError("session_revoked", "Your session has ended. Log in again.");
  return { user, session };
}

/** Refuses a call whose other cookie belongs to another session; an invalid one is ignored. */
function refuseOther(other: TokenCheck<{ readonly sessionId: string }>, sessionId: string): void {
  if (other.ok && other.claims.sessionId !== sessionId) throw tokenInvalid(true);
}

function cookieValue(cookie: CookieRead): string {
  if (cookie.kind === "present") return cookie.value;
  if (cookie.kind === "duplicate") throw tokenInvalid(true);
  throw new AccountError("not_authenticated", "You are not logged in.");
}

function claimsOf<Claims>(check: TokenCheck<Claims>): Claims {
  if (check.ok) return check.claims;
  if (check.reason === "expired") throw new AccountError("token_expired", "Your session needs a refresh.");
  throw tokenInvalid(false);
}

function tokenInvalid(clearCookies: boolean): AccountError {
  return new AccountError("token_invalid", "Your session is not valid. Log in again.", { clearCookies });
}
