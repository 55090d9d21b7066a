// The texts of mails. None has a text of the account, such as its name: a caller who registers with the
// address of another person must not be able to write to that person.
import type { Mail } from "./mailer.ts";

/** How long a link works, in milliseconds. */
export const LINK_TTL_MS = 1_800_000;

const ONCE = `The link works once, for ${LINK_TTL_MS / 60_000} minutes.`;

/** Asks for the confirmation of an address. */
export function verificationMail(to: string, link: string): Mail {
  const text = `Confirm this e-mail address in the browser in which you are logged in:\n\n${link}\n\n${ONCE} If you did not ask for it, ignore this mail.\n`;
  return { to, subject: "Confirm your e-mail address", text };
}

/** Lets the owner of an address set a password. */
export function resetMail(to: string, link: string): Mail {
  const text = `Set a new password for your account:\n\n${link}\n\n${ONCE} If you did not ask for it, ignore this mail: your password stays.\n`;
  return { to, subject: "Set a new password", text };
}

/** Informs the earlier address that the account has another one. */
export function changedMail(to: string): Mail {
  const text = "Your account has another e-mail address now. If you did not change it, contact the operator.\n";
  return { to, subject: "Your e-mail address was changed", text };
}
