// Keeps user records in one SQLite file of this machine, for one process: WAL, and a sync to disk
// before a write is done.
import { chmodSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { AccountError, StartError } from "../../errors.ts";
import type { SessionRecord } from "../../sessions/session-records.ts";
import type { UserChange, UserRecord, UserStore } from "../user-store.ts";
import { migrate } from "./schema.ts";

/**
 * How long a write waits for another process that has the file, such as a backup, in milliseconds.
 */
const BUSY_TIMEOUT_MS = 2000;

/** SQLite's result code for a broken UNIQUE constraint (https://www.sqlite.org/rescode.html). */
const SQLITE_CONSTRAINT_UNIQUE = 2067;

/** A user store on one SQLite file. */
export class EmbeddedUserStore implements UserStore {
  readonly #database: DatabaseSync;
  readonly #statements;

  /** Opens the file, made when absent and readable by its owner only. Throws STORE_UNUSABLE. */
  constructor(path: string) {
    const database = openDatabase(path);
    this.#database = database;
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO users VALUES ($id, $email, $emailKey, $name, $passwordHash, $avatar, $avatarKey, $refreshToken, $sessions, $revision,
                                   $createdAtMs, $updatedAtMs)`,
      ),
      findById: database.prepare("SELECT * FROM users WHERE id = ?"),
      findByEmailKey: database.prepare("SELECT * FROM users WHERE email_key = ?"),
      update: database.prepare(
        `UPDATE users SET sessions = $sessions, refresh_token = $refreshToken, password_hash = $passwordHash, updated_at_ms = $updatedAtMs,
                          revision = revision + 1
         WHERE id = $id AND revision = $revision`,
      ),
      findAvatarKeys: database.prepare(
        "SELECT avatar_key FROM users WHERE avatar_key IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
      ),
      ping: database.prepare("SELECT 1 FROM users LIMIT 1"),
    };
  }

  async insert(user: UserRecord): Promise<"inserted" | "email_taken"> {
    try {
      this.#statements.insert.run({ ...user, sessions: JSON.stringify(user.sessions) });
      return await Promise.resolve("inserted");
    } catch (error) {
      if (isEmailConflict(error)) return "email_taken";
      throw unavailable(error);
    }
  }

  async findById(id: string): Promise<UserRecord | undefined> {
    return this.#answer(() => readRow(this.#statements.findById.get(id)));
  }

  async findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    return this.#answer(() => readRow(this.#statements.findByEmailKey.get(emailKey)));
  }

  async update(id: string, revision: number, change: UserChange): Promise<boolean> {
    const values = { ...change, id, revision, sessions: JSON.stringify(change.sessions) };
    return this.#answer(() => this.#statements.update.run(values).changes === 1);
  }

  async findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#answer(() => {
      const rows = this.#statements.findAvatarKeys.all(JSON.stringify(userIds));
      return new Set(rows.map((row) => String(row["avatar_key"])));
    });
  }

  async ping(): Promise<void> {
    await this.#answer(() => this.#statements.ping.get());
  }

  /** Closes the file; later calls reject. Closing twice does nothing. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** SQLite answers synchronously; the promise is for other stores. */
  #answer<T>(query: () => T): Promise<T> {
    try {
      return Promise.resolve(query());
    } catch (error) {
      return Promise.reject(unavailable(error));
    }
  }
}

function openDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    chmodSync(path, 0o600);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
    migrate(database, path);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof StartError) throw cause;
    throw new StartError("STORE_UNUSABLE", `Cannot open the database ${path}`, { cause });
  }
}

function readRow(row: Record<string, SQLOutputValue> | undefined): UserRecord | undefined {
  if (row === undefined) return undefined;
  return {
    id: String(row["id"]),
    email: String(row["email"]),
    emailKey: String(row["email_key"]),
    name: textOrNull(row["name"]),
    passwordHash: String(row["password_hash"]),
    avatar: textOrNull(row["avatar"]),
    avatarKey: textOrNull(row["avatar_key"]),
    refreshToken: textOrNull(row["refresh_token"]),
    sessions: JSON.parse(String(row["sessions"])) as readonly SessionRecord[], // Only this class writes the column.
    revision: Number(row["revision"]),
    createdAtMs: Number(row["created_at_ms"]),
    updatedAtMs: Number(row["updated_at_ms"]),
  };
}

function textOrNull(value: SQLOutputValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function isEmailConflict(error: unknown): boolean {
  // Only the address is UNIQUE; a repeated id breaks the primary key, which has a code of its own.
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_CONSTRAINT_UNIQUE;
}

function unavailable(cause: unknown): AccountError {
  return new AccountError(
    "database_unavailable",
    "The service cannot reach its data right now. Try again in a moment.",
    {
      cause,
      retryAfterSeconds: 2,
    },
  );
}
