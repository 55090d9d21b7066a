// The interface of stores for images. Implementations: local/ (a folder).
import type { CleanImage } from "./image.ts";

/** Keeps images under keys. */
export interface MediaStore {
  /**
   * Stores the image under `key` and returns the URL it is read from. Rejects with
   * `media_store_unavailable`.
   */
  put(key: string, image: CleanImage): Promise<string>;
  /** Removes the image; does nothing when there is none. Rejects with `media_store_unavailable`. */
  remove(key: string): Promise<void>;
}

/**
 * Shape of every key: kind, user, 128 random bits, extension. Nothing of it comes from a caller,
 * and no part of it can climb a path.
 */
export const MEDIA_KEY = /^avatars\/[0-9a-f-]{36}\/[0-9a-f]{32}\.(png|jpg|webp)$/;

/** The key of a user's avatar; `random` is 32 hexadecimal digits. */
export function avatarKey(userId: string, random: string, extension: string): string {
  return `avatars/${userId}/${random}.${extension}`;
}
