// The value of the device cookie: proof that a browser has logged in to an account before. It gives no
// access; it only gives the browser's logins a limit of their own in place of the one that all browsers
// share.
import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

/** How long a browser is remembered after its last login, in seconds. */
export const DEVICE_COOKIE_SECONDS = 180 * 86_400;

/** Digits of the end, in seconds since the epoch, and a SHA-256. */
const TOKEN = /^(\d{1,12})\.[A-Za-z0-9_-]{43}$/;

/**
 * The holder of an account: the mailbox that last verified an address gets the account of an earlier holder, with
 * its id, and every change of the address verifies the new one.
 */
export interface AccountHolder {
  readonly id: string;
  readonly emailVerifiedAtMs: number | null;
}

/** A new value, bound to the account and its present holder. */
export function issueDeviceToken(key: KeyObject, holder: AccountHolder, nowMs: number): string {
  const expiresAtSeconds = Math.floor(nowMs / 1000) + DEVICE_COOKIE_SECONDS;
  return tokenText(key, holder, expiresAtSeconds);
}

/**
 * Returns true if `token` was issued for the holder and has not expired. Only the form that was issued
 * is accepted, as the logins of a token are counted by its text.
 */
export function isDeviceToken(key: KeyObject, holder: AccountHolder, token: string, nowMs: number): boolean {
  const [, seconds] = TOKEN.exec(token) ?? [];
  if (seconds === undefined || nowMs >= Number(seconds) * 1000) return false;
  const issued = Buffer.from(tokenText(key, holder, Number(seconds)));
  const given = Buffer.from(token);
  return issued.length === given.length && timingSafeEqual(issued, given);
}

function tokenText(key: KeyObject, { id, emailVerifiedAtMs }: AccountHolder, expiresAtSeconds: number): string {
  const text = `device-cookie|${expiresAtSeconds}|${id}|${emailVerifiedAtMs ?? "unverified"}`;
  const signed = createHmac("sha256", key).update(text);
  return `${expiresAtSeconds}.${signed.digest("base64url")}`;
}
