// The images of users in the media store. Whatever ends a call, media/media-clean-up.ts finds an image that
// no record names by the intent that was noted before.
import { type CleanImage, IMAGE_FORMATS } from "../media/image.ts";
import { avatarKey, LEFT_OVER_AGE_MS, mediaUnavailable } from "../media/media-store.ts";
import type { UserStore } from "../store/user-store.ts";
import type { AccountDeps } from "./account-deps.ts";

/**
 * Longest time from the intent to the write of the record, in milliseconds. Only a machine that was
 * suspended takes longer; the clean-up may then be about to remove the image.
 */
const UPLOAD_MAX_MS = LEFT_OVER_AGE_MS / 2;

/** The dependencies of images. */
export interface AvatarDeps extends Pick<AccountDeps, "media" | "clock" | "newMediaName" | "events"> {
  readonly store: Pick<UserStore, "addMediaIntent" | "removeMediaIntent">;
}

/** Stores the image and returns its key. Until a record names the key, the clean-up finds it by the intent. */
export async function putAvatar(deps: AvatarDeps, userId: string, avatar: CleanImage): Promise<string> {
  const key = avatarKey(userId, deps.newMediaName(), IMAGE_FORMATS[avatar.format].extension);
  const intent = { key, userId, createdAtMs: deps.clock() };
  await deps.store.addMediaIntent(intent);
  const startedMs = performance.now();
  await deps.media.put(key, avatar);
  if (deps.clock() - intent.createdAtMs > UPLOAD_MAX_MS)
    throw mediaUnavailable("The avatar took too long to store. Try again.", undefined);
  deps.events.mediaStored((performance.now() - startedMs) / 1000);
  return key;
}

/** Notes that the record is about to stop naming the image. */
export async function expectDiscard(
  { store, clock }: Pick<AvatarDeps, "store" | "clock">,
  { id: userId, avatarKey: key }: { readonly id: string; readonly avatarKey: string | null },
): Promise<void> {
  if (key !== null) await store.addMediaIntent({ key, userId, createdAtMs: clock() });
}

/** Removes the image that no user points to. Callers need not wait; what fails is left to the clean-up. */
export async function discardAvatar(
  { media, store }: Pick<AvatarDeps, "media" | "store">,
  key: string | null,
): Promise<void> {
  if (key === null) return;
  try {
    await media.remove(key);
    await store.removeMediaIntent(key);
  } catch {
    return; // The intent stays, by which the clean-up finds the image.
  }
}
