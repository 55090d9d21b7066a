// The tables of the embedded store and their version. A release that changes them adds a step to
// MIGRATIONS; steps are never edited.
import type { DatabaseSync } from "node:sqlite";
import { StartError } from "../../errors.ts";

/**
 * What brings a database from one version to the next; the version is the number of steps taken.
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
  "ALTER TABLE users ADD COLUMN locked_at_ms INTEGER",
  "ALTER TABLE users ADD COLUMN email_verified_at_ms INTEGER; ALTER TABLE users ADD COLUMN mail_tokens TEXT",
];

/** Tables that earlier releases ignore: they leave the version as it is, so that a rollback works. */
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
  database.exec(ADDITIONS);
}

/** Refuses a database that another release wrote: a command must not change the tables below a running service. */
export function requireVersion(database: DatabaseSync, path: string): void {
  const version = readVersion(database);
  if (version === MIGRATIONS.length) return;
  throw new StartError(
    "STORE_UNUSABLE",
    `Cannot use the database ${path}: its version is ${version}, that of this release ${MIGRATIONS.length}; start the service of this release first`,
  );
}

/** Lets a file that is only read do without what was added: backups and files of earlier releases have no intents. */
export function addForReading(database: DatabaseSync): void {
  const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'media_intents'").get() !== undefined;
  if (!isThere) database.exec(ADDITIONS.replace("CREATE TABLE", "CREATE TEMP TABLE"));
}

function readVersion(database: DatabaseSync): number {
  const row = database.prepare("PRAGMA user_version").get();
  return Number(row?.["user_version"]);
}
