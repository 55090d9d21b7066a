// The one-time links of mails: a token in the fragment of a URL, of which only the SHA-256 is stored.
import { createHash } from "node:crypto";
import { type AccountError, fieldError } from "../errors.ts";
import { LINK_TTL_MS } from "../mail/texts.ts";
import type { MailToken, UserRecord } from "../store/user-store.ts";

/** Most links of one purpose that work at a time; of more, the newest. */
const LINKS_MAX = 3;

/** Bytes of a token: the id of its user, which is a UUID, and randomness. */
const ID_BYTES = 16;
const RANDOM_BYTES = 32;

/** A token as it is mailed and as it is stored. */
export interface NewToken {
  readonly text: string;
  readonly stored: MailToken;
}

/** A token for the user with this id, of 32 random bytes. */
export function createToken(
  userId: string,
  random: Buffer,
  about: Pick<MailToken, "purpose" | "email" | "emailKey">,
  nowMs: number,
): NewToken {
  const text = Buffer.concat([Buffer.from(userId.replaceAll("-", ""), "hex"), random]).toString("base64url");
  return { text, stored: { ...about, hash: hashOf(text), expiresAtMs: nowMs + LINK_TTL_MS } };
}

/** The tokens of a user after one was added: those that work, and not too many. */
export function withToken(tokens: readonly MailToken[], token: MailToken, nowMs: number): readonly MailToken[] {
  const live = tokens.filter(({ expiresAtMs }) => nowMs < expiresAtMs);
  const same = live.filter(({ purpose }) => purpose === token.purpose);
  const dropped = same.slice(0, Math.max(0, same.length + 1 - LINKS_MAX));
  return [...live.filter((each) => !dropped.includes(each)), token];
}

/** The id of the user in a token; undefined for a text that is none. */
export function userOfToken(text: string): string | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== ID_BYTES + RANDOM_BYTES || bytes.toString("base64url") !== text) return undefined;
  const hex = bytes.toString("hex", 0, ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The stored token of `text`, if it still works. Throws `link_invalid`. */
export function requireToken(
  user: UserRecord | undefined,
  purpose: MailToken["purpose"],
  text: string,
  nowMs: number,
): MailToken {
  const hash = hashOf(text);
  const found = user?.mailTokens.find((token) => token.purpose === purpose && token.hash === hash);
  if (found === undefined || nowMs >= found.expiresAtMs) throw linkInvalid();
  return found;
}

/** The error for a link that works no more, or never did. */
export function linkInvalid(): AccountError {
  const message = "This link was used, has expired, or is not complete. Ask for a new one.";
  return fieldError("link_invalid", { field: "token", message });
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
