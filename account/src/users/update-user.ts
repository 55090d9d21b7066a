// Changes a stored user: read, decide, write if no other call wrote, else start again.
import { newestTokenHash, type SessionRecord } from "../sessions/session-records.ts";
import type { UserChange, UserRecord, UserStore } from "../store/user-store.ts";
import { busyError } from "./password-hasher.ts";

/** Most attempts; each lost one means that another write of the same user succeeded. */
const ROUNDS_MAX = 32;

/**
 * Changes the user to the result of `change`, which is called once per attempt and returns undefined
 * to keep the record. Resolves to the record of the last attempt, or undefined without such a user;
 * rejects with `busy` when other writes win every attempt.
 */
export async function updateUser(
  store: Pick<UserStore, "findById" | "update">,
  id: string,
  change: (user: UserRecord) => UserChange | undefined,
): Promise<UserRecord | undefined> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const user = await store.findById(id);
    const wanted = user === undefined ? undefined : change(user);
    if (user === undefined || wanted === undefined) return user;
    if (await store.update(id, user.revision, wanted)) return user;
  }
  throw busyError();
}

/** The change of a user's sessions at `nowMs`. */
export function changeOfSessions(
  { passwordHash }: Pick<UserRecord, "passwordHash">,
  sessions: readonly SessionRecord[],
  nowMs: number,
): UserChange {
  return { sessions, refreshToken: newestTokenHash(sessions), passwordHash, updatedAtMs: nowMs };
}
