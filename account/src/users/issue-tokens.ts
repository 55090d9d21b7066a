// Signs the access token of a session. log-in.ts signs the refresh token.
import type { SessionRecord } from "../sessions/session-records.ts";
import type { AccountDeps, AccountOptions } from "./account-deps.ts";

/** A signed token and its end. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch, whole seconds. */
  readonly expiresAtMs: number;
}

/** A new access token; it never outlives the session. */
export async function issueAccessToken(
  deps: Pick<AccountDeps, "tokens" | "clock" | "newId">,
  options: AccountOptions,
  userId: string,
  session: SessionRecord,
): Promise<IssuedToken> {
  const issuedAtSeconds = Math.floor(deps.clock() / 1000);
  const expiresAtSeconds = Math.min(
    issuedAtSeconds + Math.floor(options.accessTtlMs / 1000),
    session.idleExpiresAtMs / 1000,
  );
  const claims = { userId, sessionId: session.id, tokenId: deps.newId(), issuedAtSeconds, expiresAtSeconds };
  return { token: await deps.tokens.signAccess(claims), expiresAtMs: expiresAtSeconds * 1000 };
}
