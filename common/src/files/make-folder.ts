// Makes folders at the start of a program. The recursive mkdir of Node does not end where no folder
// can be made in an existing one, such as below /proc.
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { errorCode } from "../errors/error-code.ts";
import { describeError, ServiceError } from "../errors/service-error.ts";

/**
 * Makes a folder and its missing parents with the given mode. Fails with FOLDER_UNUSABLE, which
 * names the folder that could not be made.
 */
export function makeFolder(path: string, options: { readonly mode?: number } = {}): void {
  make(resolve(path), options.mode ?? 0o777);
}

function make(path: string, mode: number): void {
  const failure = tryMake(path, mode);
  if (failure === undefined) return;
  // The parent is missing. If it exists, no folder can be made in it.
  const above = dirname(path);
  if (errorCode(failure) !== "ENOENT" || above === path || isThere(above)) throw unusable(path, failure);
  make(above, mode);
  const last = tryMake(path, mode);
  if (last !== undefined) throw unusable(path, last);
}

/** The error that prevented the folder from being made; undefined when it exists now. */
function tryMake(path: string, mode: number): unknown {
  try {
    mkdirSync(path, { mode });
    return undefined;
  } catch (error) {
    return errorCode(error) === "EEXIST" && isFolder(path) ? undefined : error;
  }
}

function unusable(path: string, cause: unknown): ServiceError<"FOLDER_UNUSABLE"> {
  const message = `Cannot make the folder ${path}`;
  const reason = reasonOf(path, cause);
  // The message of the system would only repeat the reason.
  return reason === undefined
    ? new ServiceError("FOLDER_UNUSABLE", `${message}: ${describeError(cause)}`, { cause })
    : new ServiceError("FOLDER_UNUSABLE", `${message}: ${reason}`);
}

function reasonOf(path: string, cause: unknown): string | undefined {
  switch (errorCode(cause)) {
    case "EEXIST":
      return "something else has its name";
    case "ENOENT":
      return `no folder can be made in ${dirname(path)}`;
    case "ENOTDIR":
      return `${dirname(path)} is not a folder`;
    case "EACCES":
    case "EPERM":
      return `this user may not write in ${dirname(path)}`;
    case "EROFS":
      return "the file system is read-only";
    default:
      return undefined;
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // A dangling link, or a place that this user may not read.
  }
}
