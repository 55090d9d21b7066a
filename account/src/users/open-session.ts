// A new session with its two tokens, before it is stored.
import { createSession, type Device, refreshTokenId, type SessionRecord } from "../sessions/session-records.ts";
import type { AccountDeps, AccountOptions } from "./account-deps.ts";
import { issueAccessToken, type IssuedToken, issueRefreshToken } from "./issue-tokens.ts";

/** The tokens of a session. */
export interface SessionTokens {
  readonly access: IssuedToken;
  readonly refresh: IssuedToken;
}

/** A session that is not stored yet, of `device` from `nowMs` on, with its tokens. */
export async function openSession(
  deps: Pick<AccountDeps, "tokens" | "clock" | "newId" | "random">,
  options: AccountOptions,
  userId: string,
  device: Device,
  nowMs: number,
): Promise<{ readonly session: SessionRecord; readonly tokens: SessionTokens }> {
  const sessionId = deps.newId();
  const tokenId = refreshTokenId(deps.tokens.refreshKeys().signing.key, sessionId, 0);
  const session = createSession(sessionId, tokenId, device, nowMs, options);
  const access = await issueAccessToken(deps, options, userId, session);
  const refresh = await issueRefreshToken(deps, options, userId, session, tokenId);
  return { session, tokens: { access, refresh } };
}
