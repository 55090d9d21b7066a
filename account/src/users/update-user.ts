// The one way to change a stored user: read, decide, write if nobody else wrote, else start again.
import type { UserChange, UserRecord, UserStore } from "../store/user-store.ts";
import { busyError } from "./password-hasher.ts";

/** Most rounds; each lost round means that another write of the same user succeeded. */
const ROUNDS_MAX = 32;

/**
 * Changes the user to what `change` makes of the record, which is called once per round and returns
 * undefined to leave it alone. Resolves to the record the last round saw, or undefined without such
 * a user; rejects with `busy` when other writes win every round.
 */
export async function updateUser(
  store: UserStore,
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
