// The calls that need mail: verification and change of the address, and a new password for a forgotten one.
import type { Mailer } from "../mail/mailer.ts";
import { changedMail, resetMail, verificationMail } from "../mail/texts.ts";
import type { PasswordRules } from "../passwords/password-rules.ts";
import type { AccountHolder } from "../sessions/device-cookie.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { Caller } from "./account-deps.ts";
import { discardAvatar, expectDiscard } from "./avatars.ts";
import type { EmailAddress } from "./email.ts";
import { requireAcceptablePassword } from "./inputs.ts";
import { createToken, linkInvalid, requireToken, userOfToken, withToken } from "./mail-links.ts";
import { changeUser, checkPassword, type ProfileDeps } from "./profile.ts";
import { accountLabel } from "./public-user.ts";
import type { SignedIn } from "./session-calls.ts";
import { changeOfSessions, emailTaken, updateUser } from "./update-user.ts";

/** The dependencies of the calls. */
export interface MailDeps extends ProfileDeps {
  readonly mailer: Pick<Mailer, "send">;
  /** The page that links lead to; the token is in the fragment, which browsers send to no server. */
  readonly linkUrl: () => string;
  /** 32 new random bytes. */
  readonly newToken: () => Buffer;
}

/** Mails a link that verifies the address of the user. */
export function sendVerification(deps: MailDeps, { user }: SignedIn): Promise<void> {
  return mailVerification(deps, user.id, { typed: user.email, key: user.emailKey });
}

/** Mails a link to the new address, which that link changes it to. Rejects with `invalid_credentials` or `email_taken`. */
export async function requestEmailChange(
  deps: MailDeps,
  signedIn: SignedIn,
  { password, email }: { readonly password: string; readonly email: EmailAddress },
  caller: Caller,
): Promise<void> {
  await checkPassword(deps, signedIn, password, caller);
  const holder = await deps.store.findByEmailKey(email.key);
  if (holder !== undefined && holder.id !== signedIn.user.id) throw emailTaken();
  await mailVerification(deps, signedIn.user.id, email);
}

/**
 * Verifies the address of a link, and makes it that of the user. The session shows that the account belongs to the
 * person who opens the link: one whose address another one has registered verifies nothing for that one.
 */
export async function verifyEmail(
  deps: MailDeps,
  signedIn: SignedIn,
  token: string,
  caller: Caller,
): Promise<UserRecord> {
  const { user } = signedIn;
  if (userOfToken(token) !== user.id) throw linkInvalid();
  const changed = await changeUser(deps, signedIn, (current) => {
    const nowMs = deps.clock();
    const { email, emailKey } = requireToken(current, "email", token, nowMs);
    // Only a change of the address needs that no other account has it.
    return {
      ...(emailKey !== current.emailKey && { emailKey }),
      ...{ email, emailVerifiedAtMs: nowMs, mailTokens: [] },
    };
  });
  const isOther = changed.emailKey !== user.emailKey;
  caller.log.info(isOther ? "E-mail address changed" : "E-mail address verified", {
    account: accountLabel(deps.labelKey, changed.emailKey),
    session: signedIn.session.id,
  });
  // The change is done, whether the earlier address can be reached or not.
  if (isOther) await deps.mailer.send(changedMail(user.email)).catch(() => undefined);
  return changed;
}

/** Mails a link for a new password when an account has the address. */
export async function sendReset(deps: MailDeps, emailKey: string): Promise<void> {
  const user = await deps.store.findByEmailKey(emailKey);
  if (user === undefined) return;
  const address = { email: user.email, emailKey: user.emailKey };
  const link = await addLink(deps, user.id, { purpose: "reset", ...address });
  await deps.mailer.send(resetMail(user.email, link));
}

/**
 * Sets the password by a link, ends all sessions, and verifies the address. An account whose address
 * was never verified goes to the owner of the address: name and avatar of the earlier holder go. Rejects with `link_invalid`
 * and `validation_failed`. Gives the holder after it.
 */
export async function resetPassword(
  deps: MailDeps,
  { token, newPassword }: { readonly token: string; readonly newPassword: string },
  rules: PasswordRules,
  caller: Caller,
): Promise<AccountHolder> {
  const id = userOfToken(token);
  const user = id === undefined ? undefined : await deps.store.findById(id);
  requireToken(user, "reset", token, deps.clock());
  if (id === undefined || user === undefined) throw linkInvalid();
  await requireAcceptablePassword("newPassword", newPassword, user, rules);
  using place = deps.hasher.reserve(caller.group.networks, new AbortController());
  const passwordHash = await deps.hasher.hash(newPassword, place);
  const last: { discarded: string | null; verifiedAtMs: number } = { discarded: null, verifiedAtMs: 0 };
  const before = await updateUser(deps.store, id, async (current) => {
    const nowMs = deps.clock();
    const { emailKey } = requireToken(current, "reset", token, nowMs);
    if (emailKey !== current.emailKey) throw linkInvalid();
    const isTakeover = current.emailVerifiedAtMs === null;
    if (isTakeover) await expectDiscard(deps, current);
    Object.assign(last, { discarded: isTakeover ? current.avatarKey : null, verifiedAtMs: nowMs });
    return {
      ...changeOfSessions({ passwordHash }, [], nowMs),
      ...{ emailVerifiedAtMs: nowMs, mailTokens: [] },
      ...(isTakeover && { name: null, avatar: null, avatarKey: null }),
    };
  });
  if (before === undefined) throw linkInvalid();
  void discardAvatar(deps, last.discarded);
  caller.log.info("Password reset", { account: accountLabel(deps.labelKey, before.emailKey) });
  return { id, emailVerifiedAtMs: last.verifiedAtMs };
}

async function mailVerification(deps: MailDeps, userId: string, { typed, key }: EmailAddress): Promise<void> {
  const link = await addLink(deps, userId, { purpose: "email", email: typed, emailKey: key });
  await deps.mailer.send(verificationMail(typed, link));
}

async function addLink(
  deps: MailDeps,
  userId: string,
  about: { readonly purpose: "email" | "reset"; readonly email: string; readonly emailKey: string },
): Promise<string> {
  const token = createToken(userId, deps.newToken(), about, deps.clock());
  await updateUser(deps.store, userId, (current) => {
    const nowMs = deps.clock();
    return { mailTokens: withToken(current.mailTokens, token.stored, nowMs), updatedAtMs: nowMs };
  });
  return `${deps.linkUrl()}#${about.purpose === "reset" ? "reset" : "verify"}=${token.text}`;
}
