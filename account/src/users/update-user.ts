// Changes a stored user: read, decide, write if no other call wrote, else start again.
import { type AccountError, fieldError } from "../errors.ts";
import { newestTokenHash, type SessionRecord, withoutSession } from "../sessions/session-records.ts";
import type { UserChange, UserRecord, UserStore } from "../store/user-store.ts";
import { busyError } from "../passwords/password-hasher.ts";

/** Most attempts; each lost one means that another write of the same user succeeded. */
const ATTEMPTS_MAX = 32;

/**
 * Changes the user to the result of `change`, which is called once per attempt and returns undefined
 * to keep the record. Resolves to the record of the last attempt, or undefined without such a user.
 *
 * Only a write that certainly changed nothing is repeated. Rejects with `busy` when other writes win
 * every attempt, with `email_taken` when another user has the new address, and with
 * `database_unavailable` when the store does not answer: the write may then have been done.
 */
export async function updateUser(
  store: Pick<UserStore, "findById" | "update">,
  id: string,
  change: (user: UserRecord) => UserChange | undefined | Promise<UserChange | undefined>,
): Promise<UserRecord | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const user = await store.findById(id);
    const wanted = user === undefined ? undefined : await change(user);
    if (user === undefined || wanted === undefined) return user;
    const result = await store.update(id, user.revision, wanted);
    if (result === "updated") return user;
    if (result === "email_taken") throw emailTaken();
  }
  throw busyError();
}

/** Ends a session of a user; its tokens are no longer valid. Rejects like `updateUser`. */
export async function endSession(
  store: Pick<UserStore, "findById" | "update">,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
  nowMs: number,
): Promise<void> {
  await updateUser(store, userId, (user) => {
    const sessions = withoutSession(user.sessions, sessionId);
    return sessions.length === user.sessions.length ? undefined : changeOfSessions(user, sessions, nowMs);
  });
}

/** The change of a user's sessions at `nowMs`. */
export function changeOfSessions(
  { passwordHash }: Pick<UserRecord, "passwordHash">,
  sessions: readonly SessionRecord[],
  nowMs: number,
): UserChange {
  return { sessions, refreshToken: newestTokenHash(sessions), passwordHash, updatedAtMs: nowMs };
}

/** Another user has the address. */
export function emailTaken(): AccountError {
  return fieldError("email_taken", { field: "email", message: "An account with this e-mail address exists already." });
}
