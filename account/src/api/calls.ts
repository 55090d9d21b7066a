// The inputs and answers of each call of the API, for the OpenAPI document. The tests check every answer of
// the service against it.
import { z } from "zod";
import type { CallErrorCode, FieldErrorCode } from "../errors.ts";
import {
  ADDRESS,
  CREDENTIALS,
  EMAIL_CHANGE,
  PASSWORD,
  PASSWORD_CHANGE,
  PROFILE,
  REGISTRATION,
  RESET,
  TOKEN,
} from "../users/inputs.ts";
import { PUBLIC_USER } from "../users/public-user.ts";
import { PUBLIC_SESSION } from "../users/session-calls.ts";
import { ACCOUNT_ROUTES, type AccountRoute, type CallName } from "./routes.ts";

/** The description of a call. */
export interface CallDescription {
  readonly tag: "Account" | "Sessions" | "Profile" | "Mail";
  readonly summary: string;
  readonly description: string;
  /** The cookie that it needs. */
  readonly needs?: "access" | "refresh";
  /** Its effect on the two cookies of the session when it succeeds. */
  readonly cookies?: "sets" | "clears";
  readonly body?: z.ZodType;
  readonly status: 200 | 201;
  readonly answer: z.ZodType;
  /** Codes in addition to those that follow from its kind; see `errorsOf`. */
  readonly errors?: readonly CallErrorCode[];
  /** The codes that `errors` of an answer may have for a field. */
  readonly fields?: Readonly<Record<string, readonly FieldErrorCode[]>>;
}

const message = z.string().meta({ description: "A sentence for people." });
const expiry = {
  accessTokenExpiresAt: z.iso.datetime().meta({ description: "When to refresh, at the latest." }),
  refreshTokenExpiresAt: z.iso.datetime().meta({ description: "End of the session unless it is refreshed before." }),
};
const avatarFile = z.file().meta({
  description: "PNG, JPEG or WebP of 16 to 4096 pixels on each side and at most AVATAR_MAX_BYTES (2 MiB).",
});

const MESSAGE = z.object({ message });
const USER = z.object({ message, user: PUBLIC_USER });

const NEW_PASSWORD_CODES = [
  "password_too_short",
  "password_too_long",
  "password_malformed",
  "password_blank",
  "password_common",
  "password_pattern",
  "password_personal",
  "password_forbidden_word",
  "password_breached",
] as const;

const PRESENT_PASSWORD_CODES = [
  "password_required",
  "invalid_password",
  "password_too_long",
  "invalid_credentials",
] as const;

const AVATAR_CODES = [
  "avatar_required",
  "invalid_avatar",
  "avatar_type",
  "avatar_too_large",
  "avatar_damaged",
  "avatar_animated",
  "avatar_dimensions",
  "avatar_complex",
] as const;

const TOKEN_CODES = ["token_required", "invalid_token", "link_invalid"] as const;

const FORM_CODES = { email: ["duplicate_field"], password: ["duplicate_field"], name: ["duplicate_field"] } as const;

/** Every call by its name. */
export const CALLS: Readonly<Record<CallName, CallDescription>> = {
  register: {
    tag: "Account",
    summary: "Register",
    description: "Creates an account. It opens no session. The avatar is required unless AVATAR_REQUIRED is false.",
    body: REGISTRATION.extend({ avatar: avatarFile.optional() }),
    status: 201,
    answer: USER,
    errors: ["validation_failed", "email_taken", "database_unavailable"],
    fields: {
      email: ["email_required", "invalid_email", "email_too_long", "email_taken", "duplicate_field"],
      password: ["password_required", "invalid_password", ...NEW_PASSWORD_CODES, "duplicate_field"],
      name: ["invalid_name", "name_too_long", "duplicate_field"],
      avatar: AVATAR_CODES,
    },
  },
  login: {
    tag: "Sessions",
    summary: "Log in",
    description:
      "Opens a session and sets its cookies. An unknown address and a wrong password answer alike. The session that the browser had before ends.",
    cookies: "sets",
    body: CREDENTIALS,
    status: 200,
    answer: z.object({ message, user: PUBLIC_USER, ...expiry }),
    errors: ["validation_failed", "invalid_credentials", "account_locked", "busy", "database_unavailable"],
    fields: { email: ["email_required", "invalid_email"], password: PRESENT_PASSWORD_CODES },
  },
  refreshToken: {
    tag: "Sessions",
    summary: "Refresh the session",
    description:
      "Sets a new access token, and the next refresh token. Call it once after a 401 with any code but `invalid_credentials`, then repeat the call that failed. A 401 clears the cookies, unless its code is `not_authenticated` or `session_revoked`: another tab may have new ones.",
    needs: "refresh",
    cookies: "sets",
    status: 200,
    answer: z.object({ message, ...expiry }),
    errors: ["refresh_token_reused"],
  },
  currentUser: {
    tag: "Account",
    summary: "The signed-in user",
    description: "The user of the session.",
    needs: "access",
    status: 200,
    answer: z.object({ user: PUBLIC_USER }),
  },
  logout: {
    tag: "Sessions",
    summary: "Log out",
    description: "Ends the session. With LOGOUT_ALLOW_REFRESH=true the refresh cookie alone is enough.",
    needs: "access",
    cookies: "clears",
    status: 200,
    answer: MESSAGE,
    errors: ["busy"],
  },
  listSessions: {
    tag: "Sessions",
    summary: "List the sessions",
    description: "The user's sessions that have not ended, the last used first.",
    needs: "access",
    status: 200,
    answer: z.object({ sessions: z.array(PUBLIC_SESSION) }),
  },
  revokeSession: {
    tag: "Sessions",
    summary: "End a session",
    description: "Ends one session of the user. That of the call ends like a logout, with its cookies.",
    needs: "access",
    status: 200,
    answer: MESSAGE,
    errors: ["not_found", "malformed_request", "busy"],
  },
  logoutEverywhere: {
    tag: "Sessions",
    summary: "Log out everywhere",
    description: "Ends all sessions of the user, also that of the call.",
    needs: "access",
    cookies: "clears",
    status: 200,
    answer: MESSAGE,
    errors: ["busy"],
  },
  changeProfile: {
    tag: "Profile",
    summary: "Change the name",
    description: "Changes or removes the name.",
    needs: "access",
    body: PROFILE,
    status: 200,
    answer: USER,
    errors: ["validation_failed", "busy"],
    fields: { name: ["name_required", "invalid_name"] },
  },
  changeAvatar: {
    tag: "Profile",
    summary: "Change the avatar",
    description:
      "Replaces the avatar; the earlier image is removed. The image is stored in its format without metadata.",
    needs: "access",
    body: z.object({ avatar: avatarFile }),
    status: 200,
    answer: USER,
    errors: ["validation_failed"],
    fields: { ...FORM_CODES, avatar: AVATAR_CODES },
  },
  removeAvatar: {
    tag: "Profile",
    summary: "Remove the avatar",
    description: "Removes the avatar, if there is one.",
    needs: "access",
    status: 200,
    answer: USER,
    errors: ["busy"],
  },
  changePassword: {
    tag: "Profile",
    summary: "Change the password",
    description:
      "Changes the password, ends all sessions of the user, and sets the cookies of a new one: copies of the earlier cookies no longer work.",
    needs: "access",
    cookies: "sets",
    body: PASSWORD_CHANGE,
    status: 200,
    answer: MESSAGE,
    errors: ["validation_failed", "invalid_credentials", "busy"],
    fields: {
      password: PRESENT_PASSWORD_CODES,
      newPassword: ["new_password_required", "invalid_new_password", ...NEW_PASSWORD_CODES],
    },
  },
  sendVerification: {
    tag: "Mail",
    summary: "Ask for a link that verifies the address",
    description: "Mails a link to the user's address. It works once, for 30 minutes.",
    needs: "access",
    status: 200,
    answer: MESSAGE,
    errors: ["busy"],
  },
  verifyEmail: {
    tag: "Mail",
    summary: "Verify an address",
    description:
      "Verifies the address that the mail went to, also a new one of `changeEmail`, which then becomes that of the account. The call needs a session of the account: a person who opens the link without one verifies nothing for another one.",
    needs: "access",
    body: TOKEN,
    status: 200,
    answer: USER,
    errors: ["validation_failed", "link_invalid", "email_taken", "busy"],
    fields: { token: TOKEN_CODES, email: ["email_taken"] },
  },
  changeEmail: {
    tag: "Mail",
    summary: "Change the address",
    description: "Mails a link to the new address. The account has the earlier one until `verifyEmail`.",
    needs: "access",
    body: EMAIL_CHANGE,
    status: 200,
    answer: MESSAGE,
    errors: ["validation_failed", "invalid_credentials", "email_taken", "busy"],
    fields: { password: PRESENT_PASSWORD_CODES, email: ["email_required", "invalid_email", "email_taken"] },
  },
  forgotPassword: {
    tag: "Mail",
    summary: "Ask for a link that sets a password",
    description:
      "Mails a link when an account has the address. It works once, for 30 minutes. The answer is the same when none has.",
    body: ADDRESS,
    status: 200,
    answer: MESSAGE,
    errors: ["validation_failed", "busy"],
    fields: { email: ["email_required", "invalid_email"] },
  },
  resetPassword: {
    tag: "Mail",
    summary: "Set a password by a link",
    description:
      "Sets the password, ends all sessions, and verifies the address. The browser becomes a known one. An account whose address was never verified loses its name and avatar: they may be of another person.",
    body: RESET,
    status: 200,
    answer: MESSAGE,
    errors: ["validation_failed", "link_invalid", "busy", "database_unavailable"],
    fields: {
      token: TOKEN_CODES,
      newPassword: ["new_password_required", "invalid_new_password", ...NEW_PASSWORD_CODES],
    },
  },
  deleteAccount: {
    tag: "Account",
    summary: "Delete the account",
    description: "Removes the account with its sessions and its avatar. There is no way back.",
    needs: "access",
    cookies: "clears",
    body: PASSWORD,
    status: 200,
    answer: MESSAGE,
    errors: ["validation_failed", "invalid_credentials", "busy"],
    fields: { password: PRESENT_PASSWORD_CODES },
  },
};

/** The codes that a call of this kind may end with. */
export function errorsOf(name: CallName): readonly CallErrorCode[] {
  const { method, limit, body, needsMail }: AccountRoute = ACCOUNT_ROUTES[name];
  const { needs, errors = [] } = CALLS[name];
  const codes = new Set<CallErrorCode>([...errors, "malformed_request", "headers_too_large", "internal"]);
  const add = (when: boolean, ...further: readonly CallErrorCode[]): void => {
    if (when) for (const code of further) codes.add(code);
  };
  add(method !== "get", "cross_site_request");
  add(needs !== undefined, "not_authenticated", "token_expired", "token_invalid", "session_revoked");
  add(needs !== undefined, "database_unavailable");
  add(limit !== undefined || needs === "refresh", "rate_limited", "rate_limit_unavailable");
  add(needsMail === true, "not_found", "mail_unavailable");
  add(body !== undefined, "request_timeout", "unsupported_media_type");
  add(body === "json", "malformed_json", "body_too_large");
  add(body === "form", "malformed_multipart", "too_many_parts", "duplicate_field", "busy");
  add(body === "form", "avatar_type", "avatar_invalid", "avatar_too_large", "media_store_unavailable");
  return [...codes];
}
