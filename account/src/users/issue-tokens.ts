// Signs the two tokens of a session.
import type { SessionRecord } from "../sessions/session-records.ts";
import type { AccountDeps, AccountOptions } from "./account-deps.ts";

/**
 * Largest part of the life of an access token that is cut off at random, so that pages that were
 * opened together do not refresh together.
 */
const ACCESS_TTL_JITTER = 0.05;

/** A signed token and its end. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch, whole seconds. */
  readonly expiresAtMs: number;
}

/** A new access token; it never outlives the session. */
export async function issueAccessToken(
  deps: Pick<AccountDeps, "tokens" | "clock" | "newId" | "random">,
  options: Pick<AccountOptions, "accessTtlMs">,
  userId: string,
  session: SessionRecord,
): Promise<IssuedToken> {
  const issuedAtSeconds = Math.floor(deps.clock() / 1000);
  const ttlMs = options.accessTtlMs * (1 - ACCESS_TTL_JITTER * deps.random());
  const expiresAtSeconds = Math.min(issuedAtSeconds + Math.floor(ttlMs / 1000), session.idleExpiresAtMs / 1000);
  const claims = { userId, sessionId: session.id, tokenId: deps.newId(), issuedAtSeconds, expiresAtSeconds };
  return { token: await deps.tokens.signAccess(claims), expiresAtMs: expiresAtSeconds * 1000 };
}

/**
 * The refresh token of the session's generation, with the id `tokenId`: the same text each time, as
 * every claim is stored with the session.
 */
export async function issueRefreshToken(
  deps: Pick<AccountDeps, "tokens">,
  options: Pick<AccountOptions, "isRotating">,
  userId: string,
  session: SessionRecord,
  tokenId: string,
): Promise<IssuedToken> {
  // A token that is never replaced must outlast every idle end; the record has the idle end.
  const expiresAtMs = options.isRotating ? session.idleExpiresAtMs : session.absoluteExpiresAtMs;
  const token = await deps.tokens.signRefresh({
    userId,
    sessionId: session.id,
    tokenId,
    generation: session.generation,
    issuedAtSeconds: Math.floor((session.rotatedAtMs ?? session.createdAtMs) / 1000),
    expiresAtSeconds: expiresAtMs / 1000,
  });
  return { token, expiresAtMs };
}
