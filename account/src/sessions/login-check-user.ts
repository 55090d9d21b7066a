// The user of `weir-account check-login`: its address, which no one else can register, and its password.
import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

/** The address, in a domain that has no mail (RFC 2606). Each check logs in as the same user. */
export const LOGIN_CHECK_EMAIL = "check-login@weir-account.invalid";

/**
 * The password: it follows from the key of account labels, which never changes, so the next check
 * knows it, and no one else.
 */
export function loginCheckPassword(labelKey: KeyObject): string {
  return createHmac("sha256", labelKey).update(LOGIN_CHECK_EMAIL).digest("base64url");
}

/** Returns true if a caller other than the check uses its address. */
export function isForeignLoginCheck(emailKey: string, password: string, labelKey: KeyObject): boolean {
  if (emailKey !== LOGIN_CHECK_EMAIL) return false;
  const [expected, given] = [Buffer.from(loginCheckPassword(labelKey)), Buffer.from(password)];
  return given.length !== expected.length || !timingSafeEqual(given, expected);
}
