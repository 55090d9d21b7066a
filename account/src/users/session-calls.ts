// The signed-in user, and the calls about sessions. Each checks its token and then the stored session, so
// that the end of a session takes effect immediately.
import { z } from "zod";
import { AccountError } from "../errors.ts";
import { findLiveSession, isCurrentToken, liveSessions, type SessionRecord } from "../sessions/session-records.ts";
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
import { changeOfSessions, endSession, updateUser } from "./update-user.ts";

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

/** A session as its user sees it. */
export const PUBLIC_SESSION = z
  .object({
    id: z.uuid(),
    current: z.boolean().meta({ description: "Whether it is the session of the call." }),
    createdAt: z.iso.datetime().meta({ description: "Time of the login." }),
    lastUsedAt: z.iso.datetime().meta({ description: "Time of the login or the last refresh." }),
    expiresAt: z.iso.datetime().meta({ description: "End of the session unless it is refreshed before." }),
    userAgent: z.string().meta({ description: "First 100 characters of the User-Agent header of the login." }),
    network: z
      .string()
      .meta({ description: "Network of the login's address: /24 or /64.", examples: ["192.0.2.0/24"] }),
  })
  .meta({ id: "Session", description: "A browser or device in which the user is signed in." });

type PublicSession = Readonly<z.infer<typeof PUBLIC_SESSION>>;

/** The live sessions of the user, the last used first. */
export function listSessions({ user, session }: SignedIn, nowMs: number): readonly PublicSession[] {
  return liveSessions(user.sessions, nowMs)
    .toSorted((a, b) => b.lastUsedAtMs - a.lastUsedAtMs)
    .map((each) => ({
      id: each.id,
      current: each.id === session.id,
      createdAt: new Date(each.createdAtMs).toISOString(),
      lastUsedAt: new Date(each.lastUsedAtMs).toISOString(),
      expiresAt: new Date(each.idleExpiresAtMs).toISOString(),
      userAgent: each.userAgent,
      network: each.ipPrefix,
    }));
}

/** Ends one session of the user. Rejects with `not_found` when there is none with this id. */
export async function revokeSession(
  deps: AccountDeps,
  { user }: SignedIn,
  sessionId: string,
  caller: Caller,
): Promise<void> {
  const nowMs = deps.clock();
  if (findLiveSession(user.sessions, sessionId, nowMs) === undefined)
    throw new AccountError("not_found", "This session does not exist; it may have ended.");
  await endSession(deps.store, { userId: user.id, sessionId }, nowMs);
  caller.log.info("Session ended by its user", {
    account: accountLabel(deps.labelKey, user.emailKey),
    session: sessionId,
  });
}

/** Ends all sessions of the user. */
export async function logOutEverywhere(deps: AccountDeps, { user }: SignedIn, caller: Caller): Promise<void> {
  await updateUser(deps.store, user.id, (current) => changeOfSessions(current, [], deps.clock()));
  caller.log.info("Logged out everywhere", { account: accountLabel(deps.labelKey, user.emailKey) });
}

async function findSession(deps: AccountDeps, userId: string, sessionId: string, nowMs: number): Promise<SignedIn> {
  const user = await deps.store.findById(userId);
  const session = user === undefined ? undefined : findLiveSession(user.sessions, sessionId, nowMs);
  if (user === undefined || session === undefined) throw sessionRevoked();
  return { user, session };
}
