// Images in a folder of this machine: for one process, with the embedded store. http/media-route.ts
// serves them.
import { randomBytes } from "node:crypto";
import { constants, mkdir, open, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";

import { AccountError } from "../../errors.ts";
import { type CleanImage, IMAGE_FORMATS } from "../image.ts";
import { MEDIA_KEY, type MediaStore } from "../media-store.ts";

/** The options of the store. */
export interface LocalMediaOptions {
  /** Folder that holds the images; made when absent. */
  readonly directory: string;
  /**
   * URL under which keys are read, ending in a slash. A function, because a free port is known only
   * after the listener opened.
   */
  readonly publicUrl: () => string;
}

/** An image as it is served. */
export interface StoredImage {
  readonly mimeType: string;
  readonly fileName: string;
  readonly bytes: Buffer;
}

/** A media store that can also read what it stored. */
export interface LocalMediaStore extends MediaStore {
  /** The image under `key`, or undefined when there is none or `key` is not a key. */
  read(key: string): Promise<StoredImage | undefined>;
}

/** A media store on a folder. */
export function createLocalMediaStore(options: LocalMediaOptions): LocalMediaStore {
  return {
    async put(key, image) {
      try {
        await writeDurably(pathOf(options.directory, key), image);
      } catch (cause) {
        throw unavailable("The avatar could not be stored. Try again later.", cause);
      }
      return options.publicUrl() + key;
    },
    async remove(key) {
      try {
        await rm(pathOf(options.directory, key), { force: true });
        await removeFolderIfEmpty(dirname(pathOf(options.directory, key)));
      } catch (cause) {
        throw unavailable("The avatar could not be removed. Try again later.", cause);
      }
    },
    async read(key) {
      const match = MEDIA_KEY.exec(key);
      const format = Object.values(IMAGE_FORMATS).find(({ extension }) => extension === match?.[1]);
      if (format === undefined) return undefined;
      try {
        const bytes = await readPlainFile(pathOf(options.directory, key));
        return { mimeType: format.mimeType, fileName: `avatar.${format.extension}`, bytes };
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw unavailable("The image cannot be read. Try again later.", cause);
      }
    },
  };
}

/**
 * Writes a temporary file and renames it, so that a reader and a crash see the whole image or none.
 */
async function writeDurably(path: string, image: CleanImage): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString("hex")}.partial`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(image.bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Reads a file that is one: a link could lead out of the folder. */
async function readPlainFile(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Removes a user's folder when it holds no image. */
async function removeFolderIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
  }
}

/**
 * Makes the new name itself durable: without it the record of a user could outlive the image it
 * points to.
 */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function pathOf(directory: string, key: string): string {
  if (!MEDIA_KEY.test(key)) throw new RangeError("Cannot use the media key: it does not have the shape of one");
  return join(directory, ...key.split("/"));
}

/** Nothing there, or something that is no file of ours: a folder, or a link (ELOOP). */
function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EISDIR", "ELOOP"].includes(errorCode(error) ?? "");
}

function unavailable(message: string, cause: unknown): AccountError {
  return new AccountError("media_store_unavailable", message, { cause, retryAfterSeconds: 2 });
}
