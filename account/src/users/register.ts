// Registration: from checked text and an avatar to a stored user. Cheap checks come first, then a place in
// the queue of hashes, so that no picture is decoded for a call that is refused there; the record is last.
import { cleanAvatar } from "../media/clean-avatar.ts";
import type { ImageCleaner } from "../media/image.ts";
import { isForeignLoginCheck } from "../sessions/login-check-user.ts";
import { StoreError } from "../store/store-error.ts";
import type { UserRecord, UserStore } from "../store/user-store.ts";
import type { AccountDeps, Caller } from "./account-deps.ts";
import { discardAvatar, putAvatar } from "./avatars.ts";
import type { Registration } from "./inputs.ts";
import { accountLabel } from "./public-user.ts";
import { emailTaken } from "./update-user.ts";

/** The dependencies of a registration. */
export interface RegisterDeps extends Omit<AccountDeps, "tokens" | "store"> {
  readonly store: Pick<UserStore, "findByEmailKey" | "insert" | "addMediaIntent" | "removeMediaIntent">;
  readonly images: ImageCleaner;
}

/**
 * Creates the user; rejects with `email_taken`, an error of the avatar, `busy`, `media_store_unavailable`
 * or `database_unavailable`, and then nothing is stored. `call` is aborted when the call must make place
 * for another, until the hash is made.
 */
export async function register(
  deps: RegisterDeps,
  input: Registration,
  avatar: Buffer | undefined,
  caller: Caller,
  call: AbortController,
): Promise<UserRecord> {
  // Saves the hash and the upload in the common case, also when another call takes the address
  // while this one waits; the store's unique index decides.
  const checkFree = async (): Promise<void> => {
    if (isForeignLoginCheck(input.email.key, input.password, deps.labelKey)) throw emailTaken();
    if ((await deps.store.findByEmailKey(input.email.key)) !== undefined) throw emailTaken();
  };
  await checkFree();
  using place = deps.hasher.reserve(caller.group.networks, call);
  const image = avatar === undefined ? undefined : await cleanAvatar(deps.images, avatar, caller.group, call);
  const passwordHash = await deps.hasher.hash(input.password, place, checkFree);
  call.signal.throwIfAborted();
  const id = deps.newId();
  const key = image === undefined ? null : await putAvatar(deps, id, image);
  const nowMs = deps.clock();
  const user: UserRecord = {
    id,
    email: input.email.typed,
    emailKey: input.email.key,
    name: input.name,
    passwordHash,
    avatar: key === null ? null : deps.media.url(key),
    avatarKey: key,
    refreshToken: null,
    sessions: [],
    emailVerifiedAtMs: null,
    mailTokens: [],
    lockedAtMs: null,
    revision: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  await insertOrCleanUp(deps, user);
  deps.events.registered();
  caller.log.info("User registered", { account: accountLabel(deps.labelKey, user.emailKey), user: user.id });
  return user;
}

async function insertOrCleanUp(deps: RegisterDeps, user: UserRecord): Promise<void> {
  try {
    if ((await deps.store.insert(user)) === "inserted") return;
  } catch (error) {
    // A write that was sent may still be done: only the clean-up can tell.
    if (!(error instanceof StoreError) || error.outcome === "not_applied") void discardAvatar(deps, user.avatarKey);
    throw error;
  }
  void discardAvatar(deps, user.avatarKey);
  throw emailTaken();
}
