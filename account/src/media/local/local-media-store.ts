// Images in a folder of this machine: for one process, with the embedded store. http/media-route.ts
// serves them.
import { randomBytes } from "node:crypto";
import { constants, type FileHandle, lstat, mkdir, open, opendir, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";

import { type CleanImage, IMAGE_FORMATS, type ImageFormat } from "../image.ts";
import {
  checkMediaKey,
  MEDIA_KEY,
  MEDIA_PREFIX,
  type MediaHeaders,
  mediaHeaders,
  type MediaStore,
  mediaUnavailable,
  type StoredMedia,
} from "../media-store.ts";

/** A file that is being written: its key, random digits, and a suffix. A crash leaves it behind. */
const UNFINISHED = /^(.*)\.[0-9a-f]{12}\.partial$/;

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
  readonly headers: MediaHeaders;
  readonly sizeBytes: number;
  /** The open file; the caller closes it. */
  readonly file: FileHandle;
}

/** A media store that can also read what it stored. */
export interface LocalMediaStore extends MediaStore {
  /** Opens the image under `key`; undefined when there is none or `key` is not a key. */
  open(key: string): Promise<StoredImage | undefined>;
}

/** A media store on a folder. */
export function createLocalMediaStore(options: LocalMediaOptions): LocalMediaStore {
  const { directory, publicUrl } = options;
  return {
    async put(key, image) {
      try {
        checkMediaKey(key);
        await writeDurably(directory, key, image);
      } catch (cause) {
        throw mediaUnavailable("The avatar could not be stored. Try again later.", cause);
      }
    },
    url: (key) => publicUrl() + key,
    async remove(key) {
      try {
        checkMediaKey(key);
        const folder = dirname(pathOf(directory, key));
        for await (const file of openFolder(folder))
          if (keyOf(file) === basename(key)) await rm(join(folder, file), { force: true });
        await removeFolderIfEmpty(folder);
      } catch (cause) {
        throw mediaUnavailable("The avatar could not be removed. Try again later.", cause);
      }
    },
    list: () => listFiles(directory),
    async open(key) {
      const format = formatOf(key);
      if (format === undefined) return undefined;
      try {
        const opened = await openPlainFile(pathOf(directory, key));
        return opened && { headers: mediaHeaders(format), ...opened };
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw mediaUnavailable("The image cannot be read. Try again later.", cause);
      }
    },
  };
}

async function* listFiles(directory: string): AsyncGenerator<StoredMedia> {
  try {
    for await (const user of openFolder(join(directory, MEDIA_PREFIX))) {
      for await (const file of openFolder(join(directory, MEDIA_PREFIX, user))) {
        const name = `${MEDIA_PREFIX}${user}/${file}`;
        const key = keyOf(name);
        const modifiedAtMs = MEDIA_KEY.test(key) ? await modifiedAt(pathOf(directory, name)) : undefined;
        if (modifiedAtMs !== undefined) yield { key, modifiedAtMs };
      }
    }
  } catch (cause) {
    throw mediaUnavailable("The images cannot be listed.", cause);
  }
}

/** The names in a folder; none when it is gone, or none of ours. */
async function* openFolder(path: string): AsyncGenerator<string> {
  try {
    for await (const { name } of await opendir(path)) yield name;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function modifiedAt(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The key, or its end, in the name of a file, also of one that is unfinished. */
function keyOf(name: string): string {
  return UNFINISHED.exec(name)?.[1] ?? name;
}

function formatOf(key: string): ImageFormat | undefined {
  const extension = MEDIA_KEY.exec(key)?.[1];
  const formats = Object.keys(IMAGE_FORMATS) as ImageFormat[];
  return formats.find((format) => IMAGE_FORMATS[format].extension === extension);
}

/**
 * Writes a temporary file and renames it, so that a reader and a crash see the whole image or none.
 */
async function writeDurably(directory: string, key: string, image: CleanImage): Promise<void> {
  const path = pathOf(directory, key);
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
    // Always all: a put() at the same time may have made a folder and not synced its name yet.
    for (const synced of [folder, dirname(folder), directory, dirname(directory)]) await syncFolder(synced);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Opens a file that is one: a link could lead out of the folder. */
async function openPlainFile(path: string): Promise<Pick<StoredImage, "file" | "sizeBytes"> | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const found = await file.stat();
    if (found.isFile()) return { file, sizeBytes: found.size };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
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
 * Makes the names in a folder durable: without them the record of a user could outlive the image it
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

/** The path of a name whose shape has been checked. */
function pathOf(directory: string, name: string): string {
  return join(directory, ...name.split("/"));
}

/** Nothing there, or something that is no file of ours: a folder, or a link (ELOOP). */
function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EISDIR", "ELOOP"].includes(errorCode(error) ?? "");
}
