// The statements on the tables of users and of intents, and a record as a row.
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { SessionRecord } from "../../sessions/session-records.ts";
import type { MailToken, MediaIntent, UpdateResult, UserChange, UserRecord } from "../user-store.ts";
import { isUniqueConflict } from "./sqlite-codes.ts";

/** The column of each field. */
const COLUMNS = {
  id: "id",
  email: "email",
  emailKey: "email_key",
  name: "name",
  passwordHash: "password_hash",
  avatar: "avatar",
  avatarKey: "avatar_key",
  refreshToken: "refresh_token",
  sessions: "sessions",
  emailVerifiedAtMs: "email_verified_at_ms",
  mailTokens: "mail_tokens",
  lockedAtMs: "locked_at_ms",
  revision: "revision",
  createdAtMs: "created_at_ms",
  updatedAtMs: "updated_at_ms",
} as const satisfies Record<keyof UserRecord, string>;

/** Most keys that `takeMediaIntents` returns. */
const INTENTS_MAX = 500;

const FIELDS = Object.keys(COLUMNS) as readonly (keyof UserRecord)[];

const INSERT = `INSERT INTO users (${FIELDS.map((field) => COLUMNS[field]).join(", ")}) VALUES (${FIELDS.map((field) => `$${field}`).join(", ")})`;

/** The tables. Every method throws what SQLite throws; those with several writes need a transaction. */
export class UserTable {
  readonly #database: DatabaseSync;
  readonly #statements;
  /** Of writes, by their text: updates differ in the columns that they set, and the code that calls has few such sets. */
  readonly #writes = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = {
      findById: database.prepare("SELECT * FROM users WHERE id = ?"),
      findByEmailKey: database.prepare("SELECT * FROM users WHERE email_key = ?"),
      findAvatarKeys: database.prepare(
        `SELECT avatar_key FROM users WHERE avatar_key IS NOT NULL AND id IN (SELECT value FROM json_each($ids))
         UNION SELECT media_key FROM media_intents WHERE user_id IN (SELECT value FROM json_each($ids))`,
      ),
      remove: database.prepare("DELETE FROM users WHERE id = ?"),
      addIntent: database.prepare("INSERT OR REPLACE INTO media_intents VALUES ($key, $userId, $createdAtMs)"),
      removeNamedIntents: database.prepare(
        "DELETE FROM media_intents WHERE created_at_ms <= ? AND media_key = (SELECT avatar_key FROM users WHERE id = user_id)",
      ),
      oldestIntents: database.prepare(
        `SELECT media_key FROM media_intents WHERE created_at_ms <= ? ORDER BY created_at_ms LIMIT ${INTENTS_MAX}`,
      ),
      removeIntent: database.prepare("DELETE FROM media_intents WHERE media_key = ?"),
      any: database.prepare("SELECT 1 FROM users LIMIT 1"),
    };
  }

  findById(id: string): UserRecord | undefined {
    return readRow(this.#statements.findById.get(id));
  }

  findByEmailKey(emailKey: string): UserRecord | undefined {
    return readRow(this.#statements.findByEmailKey.get(emailKey));
  }

  /** The avatar keys of these users and of their intents. */
  findAvatarKeys(userIds: readonly string[]): ReadonlySet<string> {
    const rows = this.#statements.findAvatarKeys.all({ ids: JSON.stringify(userIds) });
    return new Set(rows.map((row) => String(row["avatar_key"])));
  }

  /** Adds a user, and removes the intent of the avatar. */
  insert(user: UserRecord): "inserted" | "email_taken" {
    try {
      this.#prepare(INSERT).run(toParameters(user));
      if (user.avatarKey !== null) this.removeIntent(user.avatarKey);
      return "inserted";
    } catch (error) {
      if (isUniqueConflict(error)) return "email_taken";
      throw error;
    }
  }

  update(id: string, revision: number, change: UserChange): UpdateResult {
    const values = toParameters(change);
    try {
      const { changes } = this.#updateOf(Object.keys(values)).run({ ...values, id, revision });
      return changes === 1 ? "updated" : "conflict";
    } catch (error) {
      if (isUniqueConflict(error)) return "email_taken";
      throw error;
    }
  }

  /** Removes a user. */
  remove(id: string): boolean {
    return this.#statements.remove.run(id).changes === 1;
  }

  /** Adds or replaces an intent. */
  addIntent(intent: MediaIntent): void {
    this.#statements.addIntent.run({ ...intent });
  }

  /** The keys of old intents that no record names; removes the others of that age. */
  takeIntents(createdMaxMs: number): readonly string[] {
    this.#statements.removeNamedIntents.run(createdMaxMs);
    return this.#statements.oldestIntents.all(createdMaxMs).map((row) => String(row["media_key"]));
  }

  removeIntent(key: string): void {
    this.#statements.removeIntent.run(key);
  }

  /** Throws unless the table can be read. */
  read(): void {
    this.#statements.any.get();
  }

  #updateOf(fields: readonly string[]): StatementSync {
    const assignments = FIELDS.filter((field) => fields.includes(field)).map(
      (field) => `${COLUMNS[field]} = $${field}`,
    );
    return this.#prepare(
      `UPDATE users SET ${assignments.join(", ")}, revision = revision + 1 WHERE id = $id AND revision = $revision`,
    );
  }

  /** Only when it is needed: a file of an earlier release that is only read lacks columns. */
  #prepare(sql: string): StatementSync {
    const statement = this.#writes.get(sql) ?? this.#database.prepare(sql);
    this.#writes.set(sql, statement);
    return statement;
  }
}

/** The values of the fields that are there, as SQLite takes them. */
function toParameters(fields: Partial<UserRecord>): Record<string, SQLInputValue> {
  const { sessions, mailTokens, ...others } = fields;
  return {
    ...others,
    ...(sessions !== undefined && { sessions: JSON.stringify(sessions) }),
    ...(mailTokens !== undefined && { mailTokens: JSON.stringify(mailTokens) }),
  };
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
    emailVerifiedAtMs: numberOrNull(row["email_verified_at_ms"]),
    mailTokens: JSON.parse(textOrNull(row["mail_tokens"]) ?? "[]") as readonly MailToken[],
    lockedAtMs: numberOrNull(row["locked_at_ms"]),
    revision: Number(row["revision"]),
    createdAtMs: Number(row["created_at_ms"]),
    updatedAtMs: Number(row["updated_at_ms"]),
  };
}

function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function textOrNull(value: SQLOutputValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
