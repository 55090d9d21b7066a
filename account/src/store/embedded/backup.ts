// Copies the embedded database while the service uses it, by SQLite's online backup.
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { errorCode } from "@weir/common/errors/error-code";
import { StartError } from "../../errors.ts";
import { databasePath } from "./data-directory.ts";

/** How long the copy waits for a lock of the service, such as that of a checkpoint, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;

/** Pages that are copied at a time. */
const PAGES_PER_STEP = 1024;

/** A finished backup. */
export interface Backup {
  readonly path: string;
  /** Users in the copy. */
  readonly users: number;
}

/**
 * Copies the database of `directory` to `file`, which must not exist. The copy is the state of one
 * moment, has every write that was done before the call, is readable by its owner only, and appears
 * under its name when it is complete, checked and on the disk. Throws BACKUP_FAILED.
 */
export async function backUp(directory: string, file: string): Promise<Backup> {
  const target = resolve(file);
  const partial = `${target}.${randomUUID()}.partial`;
  const message = `Cannot back up ${databasePath(directory)} to ${target}`;
  const exists = `${message}: the file exists; name another one`;
  if (existsSync(target)) throw new StartError("BACKUP_FAILED", exists);
  try {
    // Neither a file nor a link of another process is written to, or removed below.
    closeSync(openSync(partial, "wx", 0o600));
  } catch (cause) {
    throw new StartError("BACKUP_FAILED", message, { cause });
  }
  try {
    await copy(databasePath(directory), partial);
    const users = check(partial);
    syncToDisk(partial);
    linkSync(partial, target); // Unlike a rename it never replaces a file.
    syncToDisk(dirname(target));
    return { path: target, users };
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") throw new StartError("BACKUP_FAILED", exists);
    throw new StartError("BACKUP_FAILED", message, { cause });
  } finally {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(`${partial}${suffix}`, { force: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
  try {
    // An open read transaction is a snapshot: without one, the copy starts again after each write of
    // the service (https://www.sqlite.org/c3ref/backup_finish.html).
    source.exec("BEGIN; SELECT 1 FROM users LIMIT 1");
    await backup(source, to, { rate: PAGES_PER_STEP });
  } finally {
    source.close();
  }
}

/**
 * Reads the whole copy; throws when it is damaged. Removes its intents: their uploads may end after the
 * copy was made, and a service that is started with it must not remove what another one's records name.
 */
function check(path: string): number {
  const database = new DatabaseSync(path);
  try {
    // One file without a log next to it, whatever is done with it.
    database.exec("PRAGMA journal_mode = DELETE; DROP TABLE IF EXISTS media_intents");
    const found = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
    if (found !== "ok") throw new Error(`the copy is damaged: ${String(found)}`);
    return Number(database.prepare("SELECT count(*) AS users FROM users").get()?.["users"]);
  } finally {
    database.close();
  }
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
