// The public part of a user record, and the label of an account in the log.
import { createHmac, type KeyObject } from "node:crypto";
import { z } from "zod";
import type { UserRecord } from "../store/user-store.ts";

/** Length of a label in hexadecimal digits: enough that two accounts never share one. */
const LABEL_LENGTH = 32;

/** A user as answers show it. */
export const PUBLIC_USER = z
  .object({
    id: z.uuid().meta({ description: "Never changes." }),
    email: z.string().meta({ description: "The address as it was typed.", examples: ["ada@example.com"] }),
    emailVerified: z.boolean().meta({ description: "Whether the owner of the address has opened a link of a mail." }),
    name: z
      .string()
      .nullable()
      .meta({ examples: ["Ada Lovelace"] }),
    avatar: z.url().nullable().meta({ description: "URL of the image." }),
    createdAt: z.iso.datetime().meta({ description: "Time of the registration." }),
  })
  .meta({ id: "User", description: "A user." });

export type PublicUser = Readonly<z.infer<typeof PUBLIC_USER>>;

/**
 * Copies what answers may show; never a hash, a session or a revision. `mediaUrl` gives the URL of a key
 * as it is today: that of the record is from the registration.
 */
export function publicUser(user: UserRecord, mediaUrl: (key: string) => string): PublicUser {
  return {
    id: user.id,
    email: user.email,
    emailVerified: user.emailVerifiedAtMs !== null,
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
