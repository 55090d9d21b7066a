// Finds the manifest files below a folder, and the folders to watch for their changes.
import type { Dirent, Stats } from "node:fs";
import { lstat, readdir, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";

import type { ControlPlaneErrorCode } from "../../errors.ts";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

/** Names of manifest files. */
const MANIFEST_NAME = /\.(yaml|yml|json)$/;

/**
 * Entries that are skipped: those that begin with ".." are the versions behind a mounted ConfigMap,
 * which is read through the links next to them; ".#name" is the lock of an editor with unsaved
 * changes.
 */
const SKIPPED_NAME = /^\.[.#]/;

/**
 * Most files below one folder; far above any rule set, so that a wrong folder is an error. One
 * namespace has fewer: those of others are read whatever it has.
 */
const FILES_MAX = 100_000;

/** Deepest nesting of folders. */
const DEPTH_MAX = 32;

/** The files and folders of one scan. */
export interface FolderScan {
  /** Paths of all manifest files, below the folder as it was given, in the order of code units. */
  readonly files: readonly string[];
  /** Real paths of the folders in which a change of anything found causes an event. */
  readonly folders: readonly string[];
}

/**
 * Scans a folder and everything below it. Rejects with SOURCE_UNREADABLE when a folder cannot be
 * read, rather than return a part.
 */
export async function scanFolder(folder: string, filesMax = FILES_MAX): Promise<FolderScan> {
  const found: Found = { root: folder, filesMax, files: [], folders: new Set(await foldersOfLinks(resolve(folder))) };
  await scan(folder, [], found);
  return { files: found.files.toSorted(compareCodeUnits), folders: [...found.folders] };
}

interface Found {
  readonly root: string;
  readonly filesMax: number;
  readonly files: string[];
  readonly folders: Set<string>;
}

/** The folders of the links on the way to a path: such a link may be swapped, with everything below it. */
async function foldersOfLinks(path: string): Promise<readonly string[]> {
  const above = dirname(path);
  if (above === path) return [];
  const folders = [...(await foldersOfLinks(above))];
  try {
    if ((await lstat(path)).isSymbolicLink()) folders.push(await realpath(above));
  } catch (cause) {
    // Missing or not permitted: the scan of the folder itself reports that.
    if (errorCode(cause) === undefined) throw cause;
  }
  return folders;
}

/** `above` has the real paths of the folders that lead here: a link to one of them would be endless. */
async function scan(folder: string, above: readonly string[], found: Found): Promise<void> {
  const listing = await list(folder, found.root);
  if (listing === undefined || above.includes(listing.path)) return;
  if (above.length >= DEPTH_MAX) throw unreadable(found.root, `${folder} nests deeper than ${DEPTH_MAX} folders`);
  found.folders.add(listing.path);
  for (const entry of listing.entries) {
    if (SKIPPED_NAME.test(entry.name)) continue;
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await followLink(path, found) : kindOf(entry);
    if (kind === "folder") await scan(path, [...above, listing.path], found);
    else if (kind === "file" && MANIFEST_NAME.test(entry.name)) addFile(path, found);
  }
}

function addFile(path: string, found: Found): void {
  if (found.files.length >= found.filesMax) throw unreadable(found.root, `it holds more than ${found.filesMax} files`);
  found.files.push(path);
}

/** The entries of a folder; undefined when a folder below the root was removed meanwhile. */
async function list(folder: string, root: string): Promise<{ path: string; entries: readonly Dirent[] } | undefined> {
  try {
    return { path: await realpath(folder), entries: await readdir(folder, { withFileTypes: true }) };
  } catch (cause) {
    if (folder !== root && errorCode(cause) === "ENOENT") return undefined;
    throw unreadable(root, reasonOf(folder, root, cause), cause);
  }
}

/**
 * The kind of a link's target. The folder of the target is watched too: the target changes without an
 * event in the folder of the link.
 */
async function followLink(path: string, found: Found): Promise<"file" | "folder" | "other"> {
  try {
    const target = await stat(path);
    found.folders.add(dirname(await realpath(path)));
    return kindOf(target);
  } catch (cause) {
    const code = errorCode(cause);
    if (code !== "ENOENT" && code !== "ELOOP" && code !== "ENOTDIR")
      throw unreadable(found.root, reasonOf(path, found.root, cause), cause);
    // The target does not exist: reading the link as a file reports that, and keeps its last resources.
    await watchTarget(path, found);
    return "file";
  }
}

/** Watches the folder in which the target of a link is missing, to see when it comes back. */
async function watchTarget(path: string, found: Found): Promise<void> {
  try {
    found.folders.add(await realpath(dirname(resolve(dirname(path), await readlink(path)))));
  } catch (cause) {
    // That folder is missing as well, or the link itself: then only the regular scan sees the change.
    if (errorCode(cause) === undefined) throw cause;
  }
}

function kindOf(entry: Dirent | Stats): "file" | "folder" | "other" {
  if (entry.isFile()) return "file";
  return entry.isDirectory() ? "folder" : "other";
}

function reasonOf(path: string, root: string, cause: unknown): string {
  const at = path === root ? "" : `${path}: `;
  switch (errorCode(cause)) {
    case "ENOENT":
      return `${at}it does not exist`;
    case "ENOTDIR":
      return `${at}it is not a folder`;
    case "EACCES":
    case "EPERM":
      return `${at}this user may not read it`;
    default:
      return `${at}${describeError(cause)}`;
  }
}

function unreadable(root: string, reason: string, cause?: unknown): ServiceError<ControlPlaneErrorCode> {
  return new ServiceError("SOURCE_UNREADABLE", `Cannot read the folder ${root}: ${reason}`, { transient: true, cause });
}
