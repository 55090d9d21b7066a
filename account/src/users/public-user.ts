// The public part of a user record, and the label of an account in the log.
import { createHmac, type KeyObject } from "node:crypto";
import type { UserRecord } from "../store/user-store.ts";

/** Length of a label in hexadecimal digits: enough that two accounts never share one. */
const LABEL_LENGTH = 32;

/** A user as answers show it. */
export interface PublicUser {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly avatar: string | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/**
 * Copies what answers may show; never a hash, a session or a revision. `mediaUrl` gives the URL of a key
 * as it is today: that of the record is from the registration.
 */
export function publicUser(user: UserRecord, mediaUrl: (key: string) => string): PublicUser {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    avatar: user.avatarKey === null ? user.avatar : mediaUrl(user.avatarKey),
    createdAt: new Date(user.createdAtMs).toISOString(),
  };
}

/**
 * The same text for the same address, which does not reveal the address: log lines can be joined
 * and hold no personal data.
 */
export function accountLabel(key: KeyObject, emailKey: string): string {
  return createHmac("sha256", key).update(`account-label|${emailKey}`).digest("hex").slice(0, LABEL_LENGTH);
}
