// Refresh: from a refresh token to a new access token, and to the next refresh token of the session.
import { AccountError } from "../errors.ts";
import { decideRotation, type RotationContext, type RotationDecision } from "../sessions/rotation.ts";
import { newestTokenHash } from "../sessions/session-records.ts";
import type { UserRecord, UserStore } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { readRefreshClaims, type SessionCookies, sessionRevoked, tokenInvalid } from "./cookie-claims.ts";
import { issueAccessToken, type IssuedToken, issueRefreshToken } from "./issue-tokens.ts";
import { accountLabel } from "./public-user.ts";
import { changeOfSessions, updateUser } from "./update-user.ts";

/** The dependencies of a refresh. */
export interface RefreshDeps extends Pick<
  AccountDeps,
  "tokens" | "clock" | "processId" | "newId" | "random" | "labelKey"
> {
  readonly store: Pick<UserStore, "findById" | "update">;
}

/** The result of a refresh. */
export interface Refreshed {
  /** `grace`: the answer before was lost, or another tab refreshed at the same time. */
  readonly result: "rotated" | "grace" | "issued";
  readonly access: IssuedToken;
  /** Undefined when the browser keeps the one it has. */
  readonly refresh: IssuedToken | undefined;
  /** End of the refresh token that the browser has now, in milliseconds since the epoch. */
  readonly refreshExpiresAtMs: number;
}

/**
 * Refreshes a session. Several calls with one token at a time all get the same next token. Rejects
 * with `not_authenticated`, `token_expired`, `token_invalid`, `session_revoked`, and with
 * `refresh_token_reused` for an old token, which ends its session and no other.
 */
export async function refresh(
  deps: RefreshDeps,
  options: Omit<AccountOptions, "maxSessions">,
  cookies: SessionCookies,
  caller: Caller,
): Promise<Refreshed> {
  const nowMs = deps.clock();
  const claims = await readRefreshClaims(deps, cookies, nowMs);
  const { userId } = claims;
  const context: RotationContext = { nowMs, processId: deps.processId, ring: deps.tokens.refreshKeys() };
  const last: { decision: RotationDecision } = { decision: { kind: "ended" } };
  const user = await updateUser(deps.store, userId, (current) => {
    last.decision = isNewestConsistent(current)
      ? decideRotation(current.sessions, claims, context, options)
      : { kind: "unknown" };
    return "sessions" in last.decision ? changeOfSessions(current, last.decision.sessions, nowMs) : undefined;
  });
  if (user === undefined) throw sessionRevoked();
  const { decision } = last;
  switch (decision.kind) {
    case "rotate":
    case "repeat": {
      const access = await issueAccessToken(deps, options, userId, decision.session);
      const next = await issueRefreshToken(deps, options, userId, decision.session, decision.tokenId);
      const result = decision.kind === "rotate" ? "rotated" : "grace";
      return { result, access, refresh: next, refreshExpiresAtMs: next.expiresAtMs };
    }
    case "keep": {
      const access = await issueAccessToken(deps, options, userId, decision.session);
      return { result: "issued", access, refresh: undefined, refreshExpiresAtMs: claims.expiresAtSeconds * 1000 };
    }
    case "reuse":
      caller.log.warn("Refresh token reused, the session is ended", {
        account: accountLabel(deps.labelKey, user.emailKey),
        session: claims.sessionId,
      });
      throw new AccountError("refresh_token_reused", "Your session was used from another place. Log in again.");
    case "ended":
      throw sessionRevoked();
    case "unknown":
      throw tokenInvalid();
  }
}

/**
 * The refresh token of the record itself is the newest session's; a record where they differ was
 * not written by this service.
 */
function isNewestConsistent(user: UserRecord): boolean {
  return user.refreshToken === newestTokenHash(user.sessions);
}
