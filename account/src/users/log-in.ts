// Login: from credentials to a new session with its two tokens.
import { AccountError, fieldError } from "../errors.ts";
import type { CookieRead } from "../sessions/cookies.ts";
import { createSession, refreshTokenId, withoutSession, withSession } from "../sessions/session-records.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { queueGroup } from "./address-prefix.ts";
import type { Credentials } from "./inputs.ts";
import { issueAccessToken, type IssuedToken, issueRefreshToken } from "./issue-tokens.ts";
import { accountLabel } from "./public-user.ts";
import { changeOfSessions, updateUser } from "./update-user.ts";

/** The result of a login. */
export interface LogIn {
  readonly user: UserRecord;
  readonly access: IssuedToken;
  readonly refresh: IssuedToken;
}

/**
 * Opens a session. Rejects with `invalid_credentials` alike for an unknown address and a wrong
 * password, and after the same work.
 */
export async function logIn(
  deps: AccountDeps,
  options: AccountOptions,
  input: Credentials & { readonly refreshCookie: CookieRead },
  caller: Caller,
): Promise<LogIn> {
  const account = accountLabel(deps.labelKey, input.email.key);
  const user = await deps.store.findByEmailKey(input.email.key);
  const matches = await deps.hasher.verify(input.password, user?.passwordHash, queueGroup(caller.addressPrefix));
  if (user === undefined || !matches) {
    caller.log.info("Login refused", { account });
    throw wrongCredentials();
  }
  await endPreviousSession(deps, input.refreshCookie);
  const passwordHash = await renewedHash(deps, user, input.password, caller);
  const sessionId = deps.newId();
  const tokenId = refreshTokenId(deps.idKey(), sessionId, 0);
  const nowMs = deps.clock();
  const session = createSession(sessionId, tokenId, caller.device, nowMs, options);
  const stored = await updateUser(deps.store, user.id, (current) => {
    const sessions = withSession(current.sessions, session, nowMs, options);
    return changeOfSessions({ passwordHash: passwordHash ?? current.passwordHash }, sessions, nowMs);
  });
  if (stored === undefined) throw wrongCredentials(); // The user was deleted meanwhile.
  const access = await issueAccessToken(deps, options, user.id, session);
  const refresh = await issueRefreshToken(deps, options, user.id, session, tokenId);
  deps.events.loggedIn();
  caller.log.info("Login accepted", { account, session: session.id });
  return { user, access, refresh };
}

/**
 * Ends the session of the browser that logs in, of any user: a planted cookie must not stay valid
 * next to the new session.
 */
async function endPreviousSession(deps: AccountDeps, cookie: CookieRead): Promise<void> {
  if (cookie.kind !== "present") return;
  const nowMs = deps.clock();
  const check = await deps.tokens.verifyRefresh(cookie.value, nowMs);
  if (!check.ok) return;
  await updateUser(deps.store, check.claims.userId, (user) => {
    const sessions = withoutSession(user.sessions, check.claims.sessionId);
    if (sessions.length === user.sessions.length) return undefined;
    return changeOfSessions(user, sessions, nowMs);
  });
}

/**
 * A hash of today's strength when the stored one is weaker; undefined when it is not, or when there
 * is no capacity to make one now.
 */
async function renewedHash(
  deps: AccountDeps,
  user: UserRecord,
  password: string,
  { addressPrefix }: Caller,
): Promise<string | undefined> {
  if (!deps.hasher.isOutdated(user.passwordHash)) return undefined;
  try {
    return await deps.hasher.hash(password, queueGroup(addressPrefix));
  } catch (error) {
    if (error instanceof AccountError && error.code === "busy") return undefined; // The next login tries again.
    throw error;
  }
}

function wrongCredentials(): AccountError {
  const message = "The e-mail address or the password is incorrect.";
  return fieldError("invalid_credentials", { field: "password", message });
}
