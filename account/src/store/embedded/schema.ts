// The tables of the embedded store and their version. A release that changes them adds a step to
// MIGRATIONS; steps are never edited.
import type { DatabaseSync } from "node:sqlite";
import { StartError } from "../../errors.ts";

/**
 * The steps that bring a database from one version to the next; the version is the number of steps taken.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE users (
     id            TEXT PRIMARY KEY,
     email         TEXT NOT NULL,
     email_key     TEXT NOT NULL UNIQUE,
     name          TEXT,
     password_hash TEXT NOT NULL,
     avatar        TEXT,
     avatar_key    TEXT,
     refresh_token TEXT,
     sessions      TEXT NOT NULL,
     revision      INTEGER NOT NULL,
     created_at_ms INTEGER NOT NULL,
     updated_at_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  // Written only to find out whether writes work again.
  "CREATE TABLE write_probe (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
];

/** Columns of users that earlier releases ignore: they leave the version as it is, so that a rollback works. */
const ADDED_COLUMNS = { locked_at_ms: "INTEGER", email_verified_at_ms: "INTEGER", mail_tokens: "TEXT" } as const;

/** The same of tables. */
const ADDITIONS = `CREATE TABLE IF NOT EXISTS media_intents (
     media_key     TEXT PRIMARY KEY,
     user_id       TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`;

/**
 * Brings the database to the current version, one transaction per step; refuses one that a newer
 * release wrote.
 */
export function migrate(database: DatabaseSync, path: string): void {
  const version = readVersion(database);
  if (version > MIGRATIONS.length) {
    throw new StartError(
      "STORE_UNUSABLE",
      `Cannot use the database ${path}: its version is ${version}, this release knows up to ${MIGRATIONS.length}`,
    );
  }
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN IMMEDIATE; ${step}; PRAGMA user_version = ${index + 1}; COMMIT`);
  }
  const columns = missingColumns(database).map(([name, type]) => `ALTER TABLE users ADD COLUMN ${name} ${type}; `);
  database.exec(`BEGIN IMMEDIATE; ${ADDITIONS}; ${columns.join("")}COMMIT`); // One sync of the disk for all.
}

/** Refuses a database that another release wrote: a command must not change the tables below a running service. */
export function requireVersion(database: DatabaseSync, path: string): void {
  const version = readVersion(database);
  const [missing] = version === MIGRATIONS.length ? missingColumns(database) : [];
  if (version === MIGRATIONS.length && missing === undefined) return;
  const what = missing === undefined ? `its version is ${version}` : `users lack ${missing[0]}`;
  throw new StartError(
    "STORE_UNUSABLE",
    `Cannot use the database ${path}: ${what}, as of another release; start the service of this release first`,
  );
}

/** Lets a file that is only read do without what was added: backups and files of earlier releases have no intents. */
export function addForReading(database: DatabaseSync): void {
  const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'media_intents'").get() !== undefined;
  if (!isThere) database.exec(ADDITIONS.replace("CREATE TABLE", "CREATE TEMP TABLE"));
}

function missingColumns(database: DatabaseSync): readonly (readonly [name: string, type: string])[] {
  const present = new Set(
    database
      .prepare("SELECT name FROM pragma_table_info('users')")
      .all()
      .map(({ name }) => name),
  );
  return Object.entries(ADDED_COLUMNS).filter(([name]) => !present.has(name));
}

function readVersion(database: DatabaseSync): number {
  const row = database.prepare("PRAGMA user_version").get();
  return Number(row?.["user_version"]);
}
