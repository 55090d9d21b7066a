// Changes a stored user: read, decide, write if no other call wrote, else start again.
import { newestTokenHash, type SessionRecord } from "../sessions/session-records.ts";
import type { UserChange, UserRecord, UserStore } from "../store/user-store.ts";
import { busyError } from "./password-hasher.ts";

/** Most attempts; each lost one means that another write of the same user succeeded. */
const ROUNDS_MAX = 32;

/** What to do with a user: the change to store, if any, and the result of the whole. */
export interface UserDecision<Result> {
  readonly change?: UserChange | undefined;
  readonly result: Result;
}

/**
 * Stores the change that `decide` wants; `decide` is called once per attempt, with the record of that
 * attempt. Resolves to the result of the last attempt, or undefined without such a user; rejects with
 * `busy` when other writes win every attempt.
 */
export async function updateUser<Result>(
  store: Pick<UserStore, "findById" | "update">,
  id: string,
  decide: (user: UserRecord) => UserDecision<Result>,
): Promise<Result | undefined> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const user = await store.findById(id);
    if (user === undefined) return undefined;
    const { change, result } = decide(user);
    if (change === undefined || (await store.update(id, user.revision, change))) return result;
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
