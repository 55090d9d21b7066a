// The calls of the account service for the browser client. make generate writes this file from account/openapi.json.

/** A user. */
export interface User {
  /** Never changes. */
  readonly id: string;
  /** The address as it was typed. */
  readonly email: string;
  /** Whether the owner of the address has opened a link of a mail. */
  readonly emailVerified: boolean;
  readonly name: string | null;
  /** URL of the image. */
  readonly avatar: string | null;
  /** Time of the registration. */
  readonly createdAt: string;
}

/** A browser or device in which the user is signed in. */
export interface Session {
  readonly id: string;
  /** Whether it is the session of the call. */
  readonly current: boolean;
  /** Time of the login. */
  readonly createdAt: string;
  /** Time of the login or the last refresh. */
  readonly lastUsedAt: string;
  /** End of the session unless it is refreshed before. */
  readonly expiresAt: string;
  /** First 100 characters of the User-Agent header of the login. */
  readonly userAgent: string;
  /** Network of the login's address: /24 or /64. */
  readonly network: string;
}

/** Why a call failed. */
export interface ErrorBody {
  /** A sentence for people. With exactly one bad input it is that input's message. */
  readonly message: string;
  /** For programs. */
  readonly code:
    | "malformed_json"
    | "malformed_multipart"
    | "malformed_request"
    | "validation_failed"
    | "too_many_parts"
    | "duplicate_field"
    | "invalid_credentials"
    | "account_locked"
    | "not_authenticated"
    | "token_expired"
    | "token_invalid"
    | "session_revoked"
    | "refresh_token_reused"
    | "cross_site_request"
    | "not_found"
    | "method_not_allowed"
    | "request_timeout"
    | "email_taken"
    | "body_too_large"
    | "avatar_too_large"
    | "unsupported_media_type"
    | "avatar_type"
    | "headers_too_large"
    | "internal"
    | "media_store_unavailable"
    | "database_unavailable"
    | "busy"
    | "avatar_invalid"
    | "link_invalid"
    | "mail_unavailable"
    | "rate_limited"
    | "rate_limit_unavailable";
  /** The HTTP status. */
  readonly status: number;
  /** What is wrong with which input; empty when the error is not about inputs. */
  readonly errors: readonly {
    /** Name of the field in the request. */
    readonly field: string;
    /** A sentence to show next to the input. */
    readonly message: string;
    readonly code:
      | "email_required"
      | "invalid_email"
      | "email_too_long"
      | "password_required"
      | "invalid_password"
      | "new_password_required"
      | "invalid_new_password"
      | "password_too_short"
      | "password_too_long"
      | "password_malformed"
      | "password_blank"
      | "password_common"
      | "password_pattern"
      | "password_personal"
      | "password_forbidden_word"
      | "password_breached"
      | "name_required"
      | "invalid_name"
      | "name_too_long"
      | "token_required"
      | "invalid_token"
      | "avatar_required"
      | "invalid_avatar"
      | "avatar_damaged"
      | "avatar_animated"
      | "avatar_dimensions"
      | "avatar_complex"
      | "malformed_json"
      | "malformed_multipart"
      | "malformed_request"
      | "validation_failed"
      | "too_many_parts"
      | "duplicate_field"
      | "invalid_credentials"
      | "account_locked"
      | "not_authenticated"
      | "token_expired"
      | "token_invalid"
      | "session_revoked"
      | "refresh_token_reused"
      | "cross_site_request"
      | "not_found"
      | "method_not_allowed"
      | "request_timeout"
      | "email_taken"
      | "body_too_large"
      | "avatar_too_large"
      | "unsupported_media_type"
      | "avatar_type"
      | "headers_too_large"
      | "internal"
      | "media_store_unavailable"
      | "database_unavailable"
      | "busy"
      | "avatar_invalid"
      | "link_invalid"
      | "mail_unavailable"
      | "rate_limited"
      | "rate_limit_unavailable";
  }[];
  /** Also in the header X-Request-Id and in the log. */
  readonly requestId: string;
}

/** Input and answer of each call. */
export interface Calls {
  /** Creates an account. It opens no session. The avatar is required unless AVATAR_REQUIRED is false. */
  readonly register: {
    readonly input: {
      /** E-mail address of at most 254 characters; blanks around it are removed. */
      readonly email: string;
      /** At least PASSWORD_MIN characters (8), at most 72 bytes in UTF-8; neither common nor personal. */
      readonly password: string;
      /** 1 to 80 characters without control characters; blanks around it are removed. */
      readonly name?: string | undefined;
      /** PNG, JPEG or WebP of 16 to 4096 pixels on each side and at most AVATAR_MAX_BYTES (2 MiB). */
      readonly avatar?: Blob | undefined;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
    };
  };
  /** Opens a session and sets its cookies. An unknown address and a wrong password answer alike. The session that the browser had before ends. */
  readonly login: {
    readonly input: {
      /** E-mail address of at most 254 characters; blanks around it are removed. */
      readonly email: string;
      /** The present password. */
      readonly password: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
      /** When to refresh, at the latest. */
      readonly accessTokenExpiresAt: string;
      /** End of the session unless it is refreshed before. */
      readonly refreshTokenExpiresAt: string;
    };
  };
  /** Sets a new access token, and the next refresh token. Call it once after a 401 with any code but `invalid_credentials`, then repeat the call that failed. A 401 clears the cookies, unless its code is `not_authenticated` or `session_revoked`: another tab may have new ones. */
  readonly refreshToken: {
    readonly input: undefined;
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      /** When to refresh, at the latest. */
      readonly accessTokenExpiresAt: string;
      /** End of the session unless it is refreshed before. */
      readonly refreshTokenExpiresAt: string;
    };
  };
  /** The user of the session. */
  readonly currentUser: { readonly input: undefined; readonly answer: { readonly user: User } };
  /** Changes or removes the name. */
  readonly changeProfile: {
    readonly input: {
      /** The name; null removes it. */
      readonly name: string | null;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
    };
  };
  /** Ends the session. With LOGOUT_ALLOW_REFRESH=true the refresh cookie alone is enough. */
  readonly logout: {
    readonly input: undefined;
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** The user's sessions that have not ended, the last used first. */
  readonly listSessions: { readonly input: undefined; readonly answer: { readonly sessions: readonly Session[] } };
  /** Ends all sessions of the user, also that of the call. */
  readonly logoutEverywhere: {
    readonly input: undefined;
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Ends one session of the user. That of the call ends like a logout, with its cookies. */
  readonly revokeSession: {
    readonly input: { readonly id: string };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Replaces the avatar; the earlier image is removed. The image is stored in its format without metadata. */
  readonly changeAvatar: {
    readonly input: {
      /** PNG, JPEG or WebP of 16 to 4096 pixels on each side and at most AVATAR_MAX_BYTES (2 MiB). */
      readonly avatar: Blob;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
    };
  };
  /** Removes the avatar, if there is one. */
  readonly removeAvatar: {
    readonly input: undefined;
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
    };
  };
  /** Changes the password, ends all sessions of the user, and sets the cookies of a new one: copies of the earlier cookies no longer work. */
  readonly changePassword: {
    readonly input: {
      /** The present password. */
      readonly password: string;
      /** At least PASSWORD_MIN characters (8), at most 72 bytes in UTF-8; neither common nor personal. */
      readonly newPassword: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Mails a link to the user's address. It works once, for 30 minutes. */
  readonly sendVerification: {
    readonly input: undefined;
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Verifies the address that the mail went to, also a new one of `changeEmail`, which then becomes that of the account. The call needs a session of the account: a person who opens the link without one verifies nothing for another one. */
  readonly verifyEmail: {
    readonly input: {
      /** From the fragment of the link in the mail. */
      readonly token: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
      readonly user: User;
    };
  };
  /** Mails a link to the new address. The account has the earlier one until `verifyEmail`. */
  readonly changeEmail: {
    readonly input: {
      /** The present password. */
      readonly password: string;
      /** E-mail address of at most 254 characters; blanks around it are removed. */
      readonly email: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Mails a link when an account has the address. It works once, for 30 minutes. The answer is the same when none has. */
  readonly forgotPassword: {
    readonly input: {
      /** E-mail address of at most 254 characters; blanks around it are removed. */
      readonly email: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Sets the password, ends all sessions, and verifies the address. The browser becomes a known one. An account whose address was never verified loses its name and avatar: they may be of another person. */
  readonly resetPassword: {
    readonly input: {
      /** From the fragment of the link in the mail. */
      readonly token: string;
      /** At least PASSWORD_MIN characters (8), at most 72 bytes in UTF-8; neither common nor personal. */
      readonly newPassword: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
  /** Removes the account with its sessions and its avatar. There is no way back. */
  readonly deleteAccount: {
    readonly input: {
      /** The present password. */
      readonly password: string;
    };
    readonly answer: {
      /** A sentence for people. */
      readonly message: string;
    };
  };
}

/** Method, path and kind of input of each call. */
export const ROUTES = {
  register: ["POST", "register", "form"],
  login: ["POST", "login", "json"],
  refreshToken: ["POST", "refresh-token", "none"],
  currentUser: ["GET", "current-user", "none"],
  changeProfile: ["PATCH", "current-user", "json"],
  logout: ["POST", "logout", "none"],
  listSessions: ["GET", "sessions", "none"],
  logoutEverywhere: ["DELETE", "sessions", "none"],
  revokeSession: ["DELETE", "sessions/{id}", "path"],
  changeAvatar: ["POST", "avatar", "form"],
  removeAvatar: ["DELETE", "avatar", "none"],
  changePassword: ["POST", "change-password", "json"],
  sendVerification: ["POST", "send-verification", "none"],
  verifyEmail: ["POST", "verify-email", "json"],
  changeEmail: ["POST", "change-email", "json"],
  forgotPassword: ["POST", "forgot-password", "json"],
  resetPassword: ["POST", "reset-password", "json"],
  deleteAccount: ["POST", "delete-account", "json"],
} as const;
