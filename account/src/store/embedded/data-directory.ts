// The files of the embedded store in DATA_DIR, and the lock that keeps a second process out.
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorCode } from "@weir/common/errors/error-code";
import { StartError } from "../../errors.ts";
import { isBusy } from "./sqlite-codes.ts";

/**
 * How long a start waits for the lock, in milliseconds: as long as the end of a killed process may
 * take.
 */
const LOCK_WAIT_MS = 500;

/** The file with the records, in DATA_DIR. */
export function databasePath(directory: string): string {
  return join(directory, "accounts.sqlite");
}

/**
 * Takes the directory for this process, until `release` or the end of the process, however it ends:
 * an exclusive transaction on a second, empty SQLite file is a lock of the operating system. Throws
 * DATA_DIRECTORY_IN_USE when another process has it.
 */
export function lockDataDirectory(directory: string): { release(): void } {
  const path = join(directory, "accounts.lock");
  let database: DatabaseSync | undefined;
  try {
    createPrivateFile(path);
    database = new DatabaseSync(path, { timeout: LOCK_WAIT_MS });
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database?.close();
    if (!isBusy(cause)) throw new StartError("STORE_UNUSABLE", `Cannot lock ${path}`, { cause });
    throw new StartError(
      "DATA_DIRECTORY_IN_USE",
      `Cannot use DATA_DIR ${directory}: another process has it; stop that process, or set DATA_DIR to another folder`,
    );
  }
  const lock = database;
  return { release: () => lock.close() };
}

/**
 * Makes an empty file that only its owner can read, which SQLite then fills; its journals have the
 * same mode. An existing file stays as it is: opening and closing it here would drop its locks.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
