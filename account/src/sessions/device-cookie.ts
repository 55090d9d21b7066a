// The value of the device cookie: proof that a browser has logged in to an account before. It gives no
// access; it only takes the browser's logins out of the limit that all browsers share.
import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

/** How long a browser is remembered after its last login, in seconds. */
export const DEVICE_COOKIE_SECONDS = 180 * 86_400;

/** Digits of the end, in seconds since the epoch, and a SHA-256. */
const TOKEN = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

/** A new value, bound to the account. */
export function issueDeviceToken(key: KeyObject, emailKey: string, nowMs: number): string {
  const expiresAtSeconds = Math.floor(nowMs / 1000) + DEVICE_COOKIE_SECONDS;
  return `${expiresAtSeconds}.${signature(key, emailKey, expiresAtSeconds).toString("base64url")}`;
}

/** Whether `token` was issued for the account and has not expired. */
export function isDeviceToken(key: KeyObject, emailKey: string, token: string, nowMs: number): boolean {
  const [, seconds, given = ""] = TOKEN.exec(token) ?? [];
  if (seconds === undefined || nowMs >= Number(seconds) * 1000) return false;
  return timingSafeEqual(signature(key, emailKey, Number(seconds)), Buffer.from(given, "base64url"));
}

function signature(key: KeyObject, emailKey: string, expiresAtSeconds: number): Buffer {
  return createHmac("sha256", key).update(`device-cookie|${expiresAtSeconds}|${emailKey}`).digest();
}
