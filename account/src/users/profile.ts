// The calls by which signed-in users change their account: name, avatar, password, and its end. Each decides
// on the record of the write, in which the session of the call must still be live.
import { cleanAvatar } from "../media/clean-avatar.ts";
import type { ImageCleaner } from "../media/image.ts";
import { busyError } from "../passwords/password-hasher.ts";
import { findLiveSession } from "../sessions/session-records.ts";
import { StoreError } from "../store/store-error.ts";
import type { UserChange, UserRecord } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { discardAvatar, expectDiscard, putAvatar } from "./avatars.ts";
import { sessionRevoked } from "./cookie-claims.ts";
import { wrongPassword } from "./inputs.ts";
import { openSession, type SessionTokens } from "./open-session.ts";
import { accountLabel } from "./public-user.ts";
import type { SignedIn } from "./session-calls.ts";
import { changeOfSessions, updateUser } from "./update-user.ts";

/** The dependencies of the calls. */
export interface ProfileDeps extends AccountDeps {
  readonly images: ImageCleaner;
}

/** Changes the name; null removes it. */
export function changeName(deps: ProfileDeps, signedIn: SignedIn, name: string | null): Promise<UserRecord> {
  return changeUser(deps, signedIn, () => ({ name }));
}

/**
 * Replaces the avatar, and removes the earlier image. Rejects as `register` does for images; the earlier one
 * stays then. `call` is aborted when the call must make place for another.
 */
export async function changeAvatar(
  deps: ProfileDeps,
  signedIn: SignedIn,
  avatar: Buffer,
  caller: Caller,
  call: AbortController,
): Promise<UserRecord> {
  const image = await cleanAvatar(deps.images, avatar, caller.group, call);
  call.signal.throwIfAborted();
  const key = await putAvatar(deps, signedIn.user.id, image);
  try {
    return await replaceAvatar(deps, signedIn, key);
  } catch (error) {
    // A write that was sent may still be done: only the clean-up can tell.
    if (!(error instanceof StoreError) || error.outcome === "not_applied") void discardAvatar(deps, key);
    throw error;
  }
}

/** Removes the avatar. */
export function removeAvatar(deps: ProfileDeps, signedIn: SignedIn): Promise<UserRecord> {
  return replaceAvatar(deps, signedIn, null);
}

/**
 * Changes the password, which `findPasswordProblem` has accepted, ends all sessions, and opens a new one for the
 * caller: cookies that were copied before are worth nothing. Rejects with `invalid_credentials` when `password` is
 * not the present one.
 */
export async function changePassword(
  deps: ProfileDeps,
  options: AccountOptions,
  signedIn: SignedIn,
  { password, newPassword }: { readonly password: string; readonly newPassword: string },
  caller: Caller,
): Promise<SessionTokens> {
  const { networks } = caller.group;
  await checkPassword(deps, signedIn, password, caller);
  using place = deps.hasher.reserve(networks, new AbortController());
  const passwordHash = await deps.hasher.hash(newPassword, place);
  const { session, tokens } = await openSession(deps, options, signedIn.user.id, caller.device, deps.clock());
  await changeUser(deps, signedIn, (current) => {
    // The present password was hashed again, or changed: only another attempt can tell which.
    if (current.passwordHash !== signedIn.user.passwordHash) throw busyError();
    // Links that were mailed before are worth as much as the earlier password.
    return { ...changeOfSessions({ passwordHash }, [session], deps.clock()), mailTokens: [] };
  });
  caller.log.info("Password changed", fieldsOf(deps, { ...signedIn, session }));
  return tokens;
}

/** Removes the account with its sessions and avatar. Rejects with `invalid_credentials` for a wrong password. */
export async function deleteAccount(
  deps: ProfileDeps,
  signedIn: SignedIn,
  password: string,
  caller: Caller,
): Promise<void> {
  await checkPassword(deps, signedIn, password, caller);
  // Another call may have changed the password or ended the session meanwhile: then the account stays.
  const { avatarKey } = await changeUser(deps, signedIn, async (current) => {
    if (current.passwordHash !== signedIn.user.passwordHash) throw busyError();
    await expectDiscard(deps, current);
    return { ...changeOfSessions(current, [], deps.clock()), mailTokens: [] };
  });
  await deps.store.remove(signedIn.user.id);
  void discardAvatar(deps, avatarKey);
  caller.log.info("Account deleted", { ...fieldsOf(deps, signedIn), user: signedIn.user.id });
}

/** Rejects with `invalid_credentials` unless it is the password of the user. */
export async function checkPassword(
  deps: ProfileDeps,
  { user }: SignedIn,
  password: string,
  caller: Caller,
): Promise<void> {
  if (await deps.hasher.verify(password, user.passwordHash, caller.group.networks)) return;
  caller.log.info("Password refused", { account: accountLabel(deps.labelKey, user.emailKey) });
  throw wrongPassword();
}

/** Names the image `key`, or none, in the record. The image that it named goes. */
async function replaceAvatar(deps: ProfileDeps, signedIn: SignedIn, key: string | null): Promise<UserRecord> {
  const replaced: { key: string | null } = { key: null };
  const user = await changeUser(deps, signedIn, async (current) => {
    // It is there already when a write was done whose answer was lost.
    const earlier = current.avatarKey === key ? null : current.avatarKey;
    if (earlier !== null) await expectDiscard(deps, current);
    replaced.key = earlier;
    return { avatar: key === null ? null : deps.media.url(key), avatarKey: key };
  });
  void discardAvatar(deps, replaced.key);
  return user;
}

/** Changes the record of the user while the session is live, and gives the record after it. */
export async function changeUser(
  deps: Pick<AccountDeps, "store" | "clock">,
  { user: { id }, session }: SignedIn,
  change: (current: UserRecord) => Partial<UserChange> | Promise<Partial<UserChange>>,
): Promise<UserRecord> {
  const last: { change: UserChange | undefined } = { change: undefined };
  const before = await updateUser(deps.store, id, async (current) => {
    const nowMs = deps.clock();
    if (findLiveSession(current.sessions, session.id, nowMs) === undefined) throw sessionRevoked();
    last.change = { updatedAtMs: nowMs, ...(await change(current)) };
    return last.change;
  });
  if (before === undefined) throw sessionRevoked();
  return { ...before, ...last.change };
}

function fieldsOf({ labelKey }: Pick<AccountDeps, "labelKey">, { user, session }: SignedIn): Record<string, string> {
  return { account: accountLabel(labelKey, user.emailKey), session: session.id };
}
