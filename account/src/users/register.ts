// Registration: from checked text and an avatar to a stored user. Cheap checks come first, the
// record last.
import { AccountError } from "../errors.ts";
import { type CleanImage, IMAGE_FORMATS } from "../media/image.ts";
import { avatarKey } from "../media/media-store.ts";
import { StoreError } from "../store/store-error.ts";
import type { UserRecord, UserStore } from "../store/user-store.ts";
import type { AccountDeps, Caller } from "./account-deps.ts";
import { queueGroup } from "./address-prefix.ts";
import type { Registration } from "./inputs.ts";
import { accountLabel } from "./public-user.ts";
import { emailTaken } from "./update-user.ts";

/** How long the removal of an image without a user may take, in milliseconds. */
const REMOVE_TIMEOUT_MS = 2000;

/** The dependencies of a registration. */
export interface RegisterDeps extends Omit<AccountDeps, "tokens" | "store"> {
  readonly store: Pick<UserStore, "findByEmailKey" | "insert">;
}

/**
 * Creates the user; rejects with `email_taken`, `busy`, `media_store_unavailable` or
 * `database_unavailable`, and then nothing is stored.
 */
export async function register(
  deps: RegisterDeps,
  input: Registration,
  avatar: CleanImage | undefined,
  caller: Caller,
): Promise<UserRecord> {
  // Saves the hash and the upload in the common case, also when another call takes the address
  // while this one waits; the store's unique index decides.
  const checkFree = async (): Promise<void> => {
    if ((await deps.store.findByEmailKey(input.email.key)) !== undefined) throw emailTaken();
  };
  await checkFree();
  const passwordHash = await deps.hasher.hash(input.password, queueGroup(caller.addressPrefix), checkFree);
  const id = deps.newId();
  const stored = avatar === undefined ? undefined : await putAvatar(deps, id, avatar);
  const nowMs = deps.clock();
  const user: UserRecord = {
    id,
    email: input.email.typed,
    emailKey: input.email.key,
    name: input.name,
    passwordHash,
    avatar: stored?.url ?? null,
    avatarKey: stored?.key ?? null,
    refreshToken: null,
    sessions: [],
    revision: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  await insertOrCleanUp(deps, user, caller);
  deps.events.registered();
  caller.log.info("User registered", { account: accountLabel(deps.labelKey, user.emailKey), user: user.id });
  return user;
}

async function putAvatar(
  deps: RegisterDeps,
  userId: string,
  avatar: CleanImage,
): Promise<{ key: string; url: string }> {
  const key = avatarKey(userId, deps.newMediaName(), IMAGE_FORMATS[avatar.format].extension);
  const startedMs = deps.clock();
  let url: string;
  try {
    url = await deps.media.put(key, avatar);
  } catch (error) {
    // It may be stored although the answer did not arrive. The caller does not wait for the removal, and
    // the next sweep removes what it cannot.
    deps.media.remove(key).catch(() => undefined);
    throw error;
  }
  deps.events.mediaStored((deps.clock() - startedMs) / 1000);
  return { key, url };
}

async function insertOrCleanUp(deps: RegisterDeps, user: UserRecord, caller: Caller): Promise<void> {
  try {
    if ((await deps.store.insert(user)) === "inserted") return;
  } catch (error) {
    // A write that was sent may still be done: its image stays until a sweep finds no user for it.
    if (!(error instanceof StoreError) || error.outcome === "not_applied")
      await removeAvatar(deps, user.avatarKey, caller);
    throw error;
  }
  await removeAvatar(deps, user.avatarKey, caller);
  throw emailTaken();
}

/**
 * Removes the image that no user points to; when that fails it is only reported: the caller's
 * answer is the same.
 */
async function removeAvatar(deps: RegisterDeps, key: string | null, caller: Caller): Promise<void> {
  if (key === null) return;
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    timeout.reject(new AccountError("media_store_unavailable", "The avatar could not be removed in time."));
  }, REMOVE_TIMEOUT_MS);
  try {
    await Promise.race([deps.media.remove(key), timeout.promise]);
  } catch (error) {
    deps.events.mediaOrphaned();
    caller.log.warn("An image stays in the media store without a user", { key, error });
  } finally {
    clearTimeout(timer);
  }
}
