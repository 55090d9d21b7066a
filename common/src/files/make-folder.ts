// Makes folders at the start of a program. Not the recursive mkdir of Node: that never ends where a
// folder is there in which nobody can make another one, such as below /proc.
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { errorCode } from "../errors/error-code.ts";
import { describeError, ServiceError } from "../errors/service-error.ts";

/**
 * Makes a folder and those around it, as far as they are missing; `mode` is that of the new ones.
 * Fails with FOLDER_UNUSABLE, which names the folder that could not be made.
 */
export function makeFolder(path: string, options: { readonly mode?: number } = {}): void {
  make(resolve(path), options.mode ?? 0o777);
}

function make(path: string, mode: number): void {
  const failure = tryMake(path, mode);
  if (failure === undefined) return;
  // Missing is what is around it; where that is there, no folder can be made in it.
  const above = dirname(path);
  if (errorCode(failure) !== "ENOENT" || above === path || isThere(above)) throw unusable(path, failure);
  make(above, mode);
  const last = tryMake(path, mode);
  if (last !== undefined) throw unusable(path, last);
}

/** Gives what kept the folder from being made; undefined when it is there now. */
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
  // What the system says would only repeat the reason.
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
    return false; // A link that leads nowhere, or where this user may not look.
  }
}
