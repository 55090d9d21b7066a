// The interface of stores for images. Implementations: local/ (a folder), s3/ (what speaks the
// protocol of S3). media-store.suite.ts tests every implementation.
import { AccountError } from "../errors.ts";
import type { CleanImage, ImageFormat } from "./image.ts";
import { IMAGE_FORMATS } from "./image.ts";

/** Keeps images under keys. */
export interface MediaStore {
  /**
   * Stores the image under `key`. Rejects with `media_store_unavailable`; the image may be stored
   * nevertheless.
   */
  put(key: string, image: CleanImage): Promise<void>;
  /** The URL that the image under `key` is read from. */
  url(key: string): string;
  /**
   * Removes the image, and what a crash left unfinished under its key; does nothing when there is
   * nothing. Rejects with `media_store_unavailable`.
   */
  remove(key: string): Promise<void>;
  /**
   * Everything that `put` has left in the store, in no order, unfinished files too. Leaves out what others
   * keep in the store. Throws `media_store_unavailable`.
   */
  list(): AsyncIterable<StoredMedia>;
}

/** An image or an unfinished file in the store. */
export interface StoredMedia {
  readonly key: string;
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly modifiedAtMs: number;
}

/** How an image is served, whatever serves it. */
export interface MediaHeaders {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
}

/**
 * Shape of every key: kind, user, 128 random bits, extension. Nothing of it comes from a caller,
 * and no part of it can climb a path.
 */
export const MEDIA_KEY = /^avatars\/[0-9a-f-]{36}\/[0-9a-f]{32}\.(png|jpg|webp)$/;

/**
 * Age from which an object that no record names is left over, in milliseconds: no registration takes
 * as long.
 */
export const LEFT_OVER_AGE_MS = 3_600_000;

/** The folder in front of all keys. */
export const MEDIA_PREFIX = "avatars/";

/** The key of a user's avatar; `random` is 32 hexadecimal digits. */
export function avatarKey(userId: string, random: string, extension: string): string {
  return `${MEDIA_PREFIX}${userId}/${random}.${extension}`;
}

/** The id of the user whose image has this key. */
export function userOfMedia(key: string): string {
  return key.split("/")[1] ?? "";
}

/** The headers of an image of this format. A key's image never changes, so caches keep it. */
export function mediaHeaders(format: ImageFormat): MediaHeaders {
  const { mimeType, extension } = IMAGE_FORMATS[format];
  return {
    contentType: mimeType,
    contentDisposition: `inline; filename="avatar.${extension}"`,
    cacheControl: "public, max-age=31536000, immutable",
  };
}

/** The error for a store that does not answer as it should. */
export function mediaUnavailable(message: string, cause: unknown): AccountError {
  return new AccountError("media_store_unavailable", message, { cause, retryAfterSeconds: 2 });
}

/** Throws unless `key` has the shape of one. */
export function checkMediaKey(key: string): void {
  if (!MEDIA_KEY.test(key)) throw new RangeError("Cannot use the media key: it does not have the shape of one");
}
