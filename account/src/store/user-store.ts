// The interface of stores for user records, and the record itself. Implementations: embedded/
// (node:sqlite). user-store.suite.ts tests every implementation.
import type { SessionRecord } from "../sessions/session-records.ts";

/** A user as stored. All times are milliseconds since the epoch. */
export interface UserRecord {
  readonly id: string;
  /** The address as it was typed. */
  readonly email: string;
  /** The address as it is compared: unique among all users. */
  readonly emailKey: string;
  readonly name: string | null;
  /** A salted hash; the password itself is never stored. */
  readonly passwordHash: string;
  /** URL of the avatar. */
  readonly avatar: string | null;
  /** Key of the avatar in the media store. */
  readonly avatarKey: string | null;
  /** SHA-256, in hex, of the id of the newest session's refresh token; null without sessions. */
  readonly refreshToken: string | null;
  /** Oldest first. */
  readonly sessions: readonly SessionRecord[];
  /** Counts the writes to the record; see `update`. */
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The fields that may change after registration. */
export interface UserChange {
  readonly sessions: readonly SessionRecord[];
  readonly refreshToken: string | null;
  readonly passwordHash: string;
  readonly updatedAtMs: number;
}

/**
 * Keeps user records. Every method rejects with `database_unavailable` when the store does not
 * answer.
 */
export interface UserStore {
  /**
   * Stores a new user; once it resolves to "inserted" the record survives a crash of the process
   * and of the machine.
   */
  insert(user: UserRecord): Promise<"inserted" | "email_taken">;
  /** The user, or undefined when there is none. */
  findById(id: string): Promise<UserRecord | undefined>;
  /** The user with exactly this key, or undefined when there is none. */
  findByEmailKey(emailKey: string): Promise<UserRecord | undefined>;
  /**
   * Replaces what may change if the record still has `revision`, and raises the revision by one.
   * False when another call wrote in between or the user is gone: read again and decide again.
   * Whole values only, so that every database can do it in one statement.
   */
  update(id: string, revision: number, change: UserChange): Promise<boolean>;
  /**
   * The avatar keys that the records of these users name: what a sweep of the media store must keep.
   * Unknown users are skipped; callers ask for at most 500 users a call.
   */
  findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Resolves when the store can answer. */
  ping(): Promise<void>;
}
