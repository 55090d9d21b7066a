// Login: from credentials to a new session with its two tokens.
import { AccountError, fieldError } from "../errors.ts";
import type { CookieRead } from "../sessions/cookies.ts";
import { withoutSession, withSession } from "../sessions/session-records.ts";
import type { RefreshClaims } from "../sessions/tokens.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import type { Credentials } from "./inputs.ts";
import { openSession, type SessionTokens } from "./open-session.ts";
import { accountLabel } from "./public-user.ts";
import { changeOfSessions, endSession, updateUser } from "./update-user.ts";

/** The result of a login. */
export interface LogIn extends SessionTokens {
  readonly user: UserRecord;
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
  const matches = await deps.hasher.verify(input.password, user?.passwordHash, caller.group.networks);
  if (user === undefined || !matches) {
    caller.log.info("Login refused", { account });
    throw wrongCredentials();
  }
  refuseLocked(user);
  const passwordHash = await renewedHash(deps, user, input.password, caller);
  const nowMs = deps.clock();
  const { session, tokens } = await openSession(deps, options, user.id, caller.device, nowMs);
  const previous = await readPrevious(deps, input.refreshCookie, nowMs);
  const stored = await updateUser(deps.store, user.id, (current) => {
    if (current.passwordHash !== user.passwordHash) return undefined;
    refuseLocked(current);
    const others = withoutSession(current.sessions, previous?.sessionId);
    const sessions = withSession(others, session, nowMs, options);
    return changeOfSessions({ passwordHash: passwordHash ?? current.passwordHash }, sessions, nowMs);
  });
  if (stored === undefined) throw wrongCredentials(); // The user was deleted meanwhile.
  // Another call changed the password, or hashed it again: the one that was compared may no longer be right.
  if (stored.passwordHash !== user.passwordHash) return logIn(deps, options, input, caller);
  if (previous !== undefined && previous.userId !== user.id) await endSession(deps.store, previous, nowMs);
  deps.events.loggedIn();
  caller.log.info("Login accepted", { account, session: session.id });
  return { user, ...tokens };
}

/**
 * The session of the browser that logs in, of any user. It ends with the login: a planted cookie must
 * not stay valid next to the new session.
 */
async function readPrevious(
  { tokens }: Pick<AccountDeps, "tokens">,
  cookie: CookieRead,
  nowMs: number,
): Promise<RefreshClaims | undefined> {
  const check = cookie.kind === "present" ? await tokens.verifyRefresh(cookie.value, nowMs) : undefined;
  return check?.ok === true ? check.claims : undefined;
}

/**
 * A hash of today's strength when the stored one is weaker; undefined when it is not, or when there
 * is no capacity to make one now.
 */
async function renewedHash(
  deps: AccountDeps,
  user: UserRecord,
  password: string,
  { group }: Caller,
): Promise<string | undefined> {
  if (!deps.hasher.isOutdated(user.passwordHash)) return undefined;
  try {
    using place = deps.hasher.reserve(group.networks, new AbortController());
    return await deps.hasher.hash(password, place);
  } catch (error) {
    if (error instanceof AccountError && error.code === "busy") return undefined; // The next login tries again.
    throw error;
  }
}

/** Only a caller with the password may learn that the account is locked. */
function refuseLocked({ lockedAtMs }: UserRecord): void {
  if (lockedAtMs !== null) throw new AccountError("account_locked", "This account is locked. Ask the operator.");
}

function wrongCredentials(): AccountError {
  const message = "The e-mail address or the password is incorrect.";
  return fieldError("invalid_credentials", { field: "password", message });
}
