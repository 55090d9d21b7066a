// The calls of a signed-in user: current user and log out. Each checks its token and then the stored
// session, so that the end of a session takes effect immediately.
import { AccountError } from "../errors.ts";
import { findLiveSession, isCurrentToken, type SessionRecord } from "../sessions/session-records.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { AccountDeps, Caller } from "./account-deps.ts";
import {
  readAccessClaims,
  readRefreshClaims,
  type SessionCookies,
  sessionRevoked,
  tokenInvalid,
} from "./cookie-claims.ts";
import { accountLabel } from "./public-user.ts";
import { endSession } from "./update-user.ts";

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
  const { userId, sessionId } = await readAccessClaims(deps, cookies, nowMs);
  return findSession(deps, userId, sessionId, nowMs);
}

/**
 * The user and session of a log-out: of the access cookie, or with `allowRefresh` and without a
 * usable one, of the refresh cookie if that is the current one. Rejects like `authenticate`.
 */
export async function authenticateLogOut(
  deps: AccountDeps,
  cookies: SessionCookies,
  { allowRefresh }: { readonly allowRefresh: boolean },
): Promise<SignedIn> {
  try {
    return await authenticate(deps, cookies);
  } catch (error) {
    const isAccessMissing =
      error instanceof AccountError && (error.code === "token_expired" || error.code === "not_authenticated");
    if (!allowRefresh || !isAccessMissing || cookies.refresh.kind === "absent") throw error;
  }
  const nowMs = deps.clock();
  const { userId, sessionId, tokenId } = await readRefreshClaims(deps, cookies, nowMs);
  const signedIn = await findSession(deps, userId, sessionId, nowMs);
  if (!isCurrentToken(signedIn.session, tokenId)) throw tokenInvalid();
  return signedIn;
}

/** Ends the session; its tokens are no longer valid. */
export async function logOut(deps: AccountDeps, { user, session }: SignedIn, caller: Caller): Promise<void> {
  await endSession(deps.store, { userId: user.id, sessionId: session.id }, deps.clock());
  caller.log.info("Logged out", { account: accountLabel(deps.labelKey, user.emailKey), session: session.id });
}

async function findSession(deps: AccountDeps, userId: string, sessionId: string, nowMs: number): Promise<SignedIn> {
  const user = await deps.store.findById(userId);
  const session = user === undefined ? undefined : findLiveSession(user.sessions, sessionId, nowMs);
  if (user === undefined || session === undefined) throw sessionRevoked();
  return { user, session };
}
