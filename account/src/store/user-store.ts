// The interface of stores for user records, and the record itself. Implementations: embedded/
// (node:sqlite) and mongo/ (mongoose). user-store.suite.ts tests every implementation.
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
  /** When the owner of the address was last seen to have it; null when that was never shown. */
  readonly emailVerifiedAtMs: number | null;
  /** Links in mails that may still work. Oldest first. */
  readonly mailTokens: readonly MailToken[];
  /** When an operator locked the account; null for one that is not locked. */
  readonly lockedAtMs: number | null;
  /** Counts the writes to the record; see `update`. */
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A link in a mail. */
export interface MailToken {
  /** `email`: verifies the address, and makes it the user's; `reset`: sets a password. */
  readonly purpose: "email" | "reset";
  /** SHA-256, in hex, of the token. The token itself is never stored. */
  readonly hash: string;
  /** The address that the mail went to, as typed and as compared. */
  readonly email: string;
  readonly emailKey: string;
  readonly expiresAtMs: number;
}

/** The fields that may change after registration. Those that are absent stay as they are. */
export interface UserChange extends Partial<Omit<UserRecord, "id" | "revision" | "createdAtMs" | "updatedAtMs">> {
  readonly updatedAtMs: number;
}

/** The note of an object of the media store that the record of a user will name, or will stop naming. */
export interface MediaIntent {
  /** The key of the object. */
  readonly key: string;
  readonly userId: string;
  readonly createdAtMs: number;
}

/**
 * The result of an update. On "conflict" nothing changed: another call wrote in between, or the user
 * does not exist. On "email_taken" nothing changed: another user has the new address.
 */
export type UpdateResult = "updated" | "conflict" | "email_taken";

/**
 * Keeps user records. Every method but `start` and `stop` rejects with a StoreError, whose code is
 * `database_unavailable`, when the store does not answer within three seconds.
 */
export interface UserStore {
  /**
   * Opens the store. Rejects with a StartError when it cannot work before a person has changed
   * something. A server that does not answer is no error: calls reject until it does.
   */
  start(): Promise<void>;
  /** Closes the store; later calls reject. Stopping twice does nothing. */
  stop(): Promise<void>;
  /**
   * Stores a new user; once it resolves to "inserted" the record survives a crash of the process
   * and of the machine. Removes the intent of its avatar.
   */
  insert(user: UserRecord): Promise<"inserted" | "email_taken">;
  /** The user, or undefined when there is none. */
  findById(id: string): Promise<UserRecord | undefined>;
  /** The user with exactly this key, or undefined when there is none. */
  findByEmailKey(emailKey: string): Promise<UserRecord | undefined>;
  /**
   * Changes the record if it still has `revision`, and raises the revision by one. After "conflict"
   * read again and decide again; users/update-user.ts does that.
   */
  update(id: string, revision: number, change: UserChange): Promise<UpdateResult>;
  /** Removes the user with the sessions; false when there was none. */
  remove(id: string): Promise<boolean>;
  /**
   * The avatar keys that the records and the intents of these users name. Unknown users are skipped;
   * callers ask for at most 500 users a call.
   */
  findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Adds an intent, or replaces the one with its key: before an upload, and before a write by which a
   * record stops naming the key. Whatever ends the call after that, media/media-clean-up.ts removes an
   * object that no record names.
   */
  addMediaIntent(intent: MediaIntent): Promise<void>;
  /**
   * The keys of the oldest intents, made at `createdMaxMs` or before, that no record names; at most
   * 500. Removes the intents that a record names.
   */
  takeMediaIntents(createdMaxMs: number): Promise<readonly string[]>;
  /** Removes the intent with this key, if there is one. */
  removeMediaIntent(key: string): Promise<void>;
  /** Resolves when the store reads and writes; the cause of a rejection says what does not work. */
  ping(): Promise<void>;
}
