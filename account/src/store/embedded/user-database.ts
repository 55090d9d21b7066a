// Executes batches of requests on the SQLite file: reads first, then all writes in one transaction,
// so that writes that wait together share one sync to the disk. Synchronous: for a thread of its own.
import { DatabaseSync } from "node:sqlite";
import { describeError } from "@weir/common/errors/service-error";
import { StartError } from "../../errors.ts";
import { createPrivateFile } from "./data-directory.ts";
import type { ReadRequest, StoreAccess, StoreRequest, StoreResult, StoreValue, WriteRequest } from "./messages.ts";
import { addForReading, migrate, requireVersion } from "./schema.ts";
import { isBusy, isConstraint, isSqliteError } from "./sqlite-codes.ts";
import { UserTable } from "./user-table.ts";

/**
 * How long a statement waits for a lock, in milliseconds, and how often a transaction is attempted.
 * Only a tool of the operator can have the lock, since the directory belongs to one process.
 */
const BUSY_TIMEOUT_MS = 100;
const BEGIN_ATTEMPTS = 3;

const READS: readonly StoreRequest["kind"][] = ["findById", "findByEmailKey", "findAvatarKeys", "ping"];

/** Bytes of a write that shows that writes work: more than a record has. */
const PROBE_BYTES = 65_536;

/** The SQLite file with the users. */
export class UserDatabase {
  readonly #database: DatabaseSync;
  readonly #table: UserTable;
  /** True from a write that failed to the next one that succeeds. */
  #isFailing = false;

  /**
   * Opens the file; with `own` it is made when absent, readable by its owner only, and brought to the current
   * version. Throws STORE_UNUSABLE.
   */
  constructor(path: string, access: StoreAccess = "own") {
    this.#database = OPENERS[access](path);
    this.#table = new UserTable(this.#database);
  }

  /**
   * The results in the order of the requests. Reads see the state before the batch: a caller that
   * waits for its write before it reads cannot tell. A write is reported as done only after the
   * commit.
   */
  execute(requests: readonly StoreRequest[]): readonly StoreResult[] {
    const results = requests.map((request) =>
      isWrite(request) ? undefined : this.#attempt(() => this.#read(request)),
    );
    const writes = requests.filter(isWrite);
    const written = (writes.length === 0 ? [] : this.#writeAll(writes)).values();
    return results.map((result) => result ?? takeNext(written));
  }

  /** Moves what was written from the log into the file, and empties the log. Throws what SQLite throws. */
  checkpoint(): void {
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Closes the file. */
  close(): void {
    this.#database.close();
  }

  #read(request: ReadRequest): StoreValue {
    switch (request.kind) {
      case "findById":
        return this.#table.findById(request.id);
      case "findByEmailKey":
        return this.#table.findByEmailKey(request.emailKey);
      case "findAvatarKeys":
        return this.#table.findAvatarKeys(request.userIds);
      case "ping":
        this.#table.read();
        if (this.#isFailing) this.#probe();
        return undefined;
    }
  }

  #writeAll(writes: readonly WriteRequest[]): readonly StoreResult[] {
    try {
      this.#begin();
      const results = writes.map((write) => this.#writeOne(write));
      this.#database.exec("COMMIT");
      this.#isFailing = false;
      return results;
    } catch (error) {
      this.#isFailing = true;
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      const reason = describeError(error);
      return writes.map(() => ({ ok: false, reason }));
    }
  }

  /**
   * One statement, which SQLite undoes when it fails; the others of the batch are not affected.
   * Throws when SQLite has undone the whole transaction, as some faults of the disk make it.
   */
  #writeOne(write: WriteRequest): StoreResult {
    try {
      return { ok: true, value: this.#write(write) };
    } catch (error) {
      if (!this.#database.isTransaction || (isSqliteError(error) && !isConstraint(error))) throw error;
      return { ok: false, reason: describeError(error) };
    }
  }

  #write(request: WriteRequest): StoreValue {
    switch (request.kind) {
      case "insert":
        return this.#table.insert(request.user);
      case "update":
        return this.#table.update(request.id, request.revision, request.change);
      case "remove":
        return this.#table.remove(request.id);
      case "addMediaIntent":
        this.#table.addIntent(request.intent);
        return undefined;
      case "takeMediaIntents":
        return this.#table.takeIntents(request.createdMaxMs);
      case "removeMediaIntent":
        this.#table.removeIntent(request.key);
        return undefined;
    }
  }

  #begin(): void {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#database.exec("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (!isBusy(error) || attempt === BEGIN_ATTEMPTS) throw error;
      }
    }
  }

  #probe(): void {
    this.#database.exec(`INSERT OR REPLACE INTO write_probe VALUES (1, zeroblob(${PROBE_BYTES}))`);
    this.#isFailing = false;
  }

  #attempt(read: () => StoreValue): StoreResult {
    try {
      return { ok: true, value: read() };
    } catch (error) {
      return { ok: false, reason: describeError(error) };
    }
  }
}

function takeNext<T>(values: Iterator<T>): T {
  const next = values.next();
  if (next.done === true) throw new Error("Cannot answer a write: its result is missing");
  return next.value;
}

function isWrite(request: StoreRequest): request is WriteRequest {
  return !READS.includes(request.kind);
}

function open(path: string): DatabaseSync {
  return opened(path, () => {
    createPrivateFile(path);
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
      migrate(database, path);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

function openShared(path: string): DatabaseSync {
  return opened(path, () => {
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
    try {
      requireVersion(database, path); // Read only, as otherwise a file would be made when there is none.
    } finally {
      database.close();
    }
    const shared = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    shared.exec("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
    return shared;
  });
}

function openReadOnly(path: string): DatabaseSync {
  return opened(path, () => {
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
    addForReading(database);
    return database;
  });
}

const OPENERS = { own: open, share: openShared, read: openReadOnly } as const;

function opened(path: string, openFile: () => DatabaseSync): DatabaseSync {
  try {
    return openFile();
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    throw new StartError("STORE_UNUSABLE", `Cannot open the database ${path}`, { cause });
  }
}
