// The errors of the account service: every code that a caller or an operator can meet, and the class
// that carries the codes of calls. http/error-status.ts maps them to HTTP.
import { type ErrorTable, ServiceError } from "@weir/common/errors/service-error";

/** The error codes of calls to the account service: `code` in the body of an answer. */
export const CALL_ERRORS = {
  malformed_json: {
    meaning: "The body is not one JSON object.",
    remedy: "Send a JSON object in UTF-8 with Content-Type: application/json.",
  },
  malformed_multipart: {
    meaning: "The multipart body cannot be read: no or a wrong boundary, a part without a name, or it ends too early.",
    remedy: "Let the client library build the form; do not set Content-Type by hand.",
  },
  malformed_request: {
    meaning: "The request is not valid HTTP.",
    remedy: "Look at the client or proxy that wrote it.",
  },
  validation_failed: { meaning: "One or more inputs break a rule.", remedy: "Correct the fields listed in errors." },
  too_many_parts: {
    meaning: "The form has more parts than the service reads.",
    remedy: "Send at most 10 text fields and one file; fields other than email, password, name and avatar are ignored.",
  },
  duplicate_field: { meaning: "A known field appears twice in the form.", remedy: "Send each field once." },
  invalid_credentials: {
    meaning: "No account has this e-mail address and password.",
    remedy: "Check both and try again.",
  },
  account_locked: {
    meaning: "An operator has locked the account. Only callers with its password receive this.",
    remedy: "Ask the operator: weir-account user unlock EMAIL.",
  },
  not_authenticated: {
    meaning: "The call needs a session and the cookie is missing.",
    remedy: "Log in, and send cookies with the call.",
  },
  token_expired: {
    meaning: "The access token is past its life.",
    remedy: "Call refresh-token once and repeat the call.",
  },
  token_invalid: {
    meaning: "The token in the cookie is not one of this service, or the cookie appears twice in the request.",
    remedy: "Log in again.",
  },
  session_revoked: { meaning: "The session of the token has ended.", remedy: "Log in again." },
  refresh_token_reused: {
    meaning: "The refresh token was replaced longer than REFRESH_GRACE ago, so it may be stolen; its session is ended.",
    remedy: "Log in again; when it happens often, look for a client that keeps old cookies.",
  },
  cross_site_request: {
    meaning: "A page of an origin that is not allowed made the call.",
    remedy: "Add the page's origin to CORS_ORIGINS if it is yours.",
  },
  not_found: {
    meaning: "Nothing is served under this path: no such session, or a call that needs mail with MAIL=off.",
    remedy: "Check the path; case and a trailing slash matter.",
  },
  method_not_allowed: { meaning: "The path does not serve this method.", remedy: "Use a method of the Allow header." },
  request_timeout: {
    meaning: "The request did not arrive in time.",
    remedy: "Try again; look at the network between client and service.",
  },
  email_taken: {
    meaning: "An account with this e-mail address exists.",
    remedy: "Log in, or register another address.",
  },
  body_too_large: {
    meaning: "The body is larger than the call accepts.",
    remedy: "Send less; JSON bodies may have 16 KiB.",
  },
  avatar_too_large: {
    meaning: "The avatar has more bytes than AVATAR_MAX_BYTES, as it was sent, or as it would be stored.",
    remedy: "Send a smaller or simpler image.",
  },
  unsupported_media_type: {
    meaning: "The body has a type, charset or encoding that the call does not read.",
    remedy: "Register takes multipart/form-data, login application/json in UTF-8.",
  },
  avatar_type: {
    meaning: "The avatar is not a PNG, JPEG or WebP image.",
    remedy: "Send an image in one of these formats.",
  },
  headers_too_large: { meaning: "The header block is larger than 16 KiB.", remedy: "Clear the cookies of this host." },
  internal: { meaning: "A fault of the service.", remedy: "Search the service's log for the requestId of the answer." },
  media_store_unavailable: {
    meaning: "The avatar could not be processed or stored.",
    remedy: "Look at the service's log, and at the disk or the media store, then try again.",
  },
  database_unavailable: {
    meaning: "The user store did not answer, or takes no registration while its unique index of addresses is missing.",
    remedy: "Look at the user store and the service's log, then try again.",
  },
  busy: {
    meaning: "More work is waiting than the service takes on.",
    remedy: "Try again after Retry-After; add replicas or CPU.",
  },
  avatar_invalid: {
    meaning: "The avatar is damaged, animated, too small or too large in pixels, or takes too long to decode.",
    remedy: "Send a whole still image of 16 to 4096 pixels on each side, or a JPEG of up to 50 megapixels.",
  },
  link_invalid: {
    meaning: "The link of a mail was used, has expired after 30 minutes, or is not complete.",
    remedy: "Ask for a new mail.",
  },
  mail_unavailable: {
    meaning: "The mail server does not take the mail.",
    remedy: "Look at the service's log and at SMTP_URL, then try again.",
  },
  rate_limited: {
    meaning: "The address or the account has made more attempts than its limits allow.",
    remedy: "Wait as long as Retry-After says. docs/account.md lists the limits.",
  },
  rate_limit_unavailable: {
    meaning: "The rate limit service does not decide, and RATE_LIMIT_FAILURE is closed.",
    remedy: "Look at the rate limit service; the log names the reason.",
  },
} as const satisfies ErrorTable;

/** The error codes of single fields: `code` in `errors` of an answer, in addition to the codes of calls. */
export const FIELD_ERRORS = {
  email_required: { meaning: "The e-mail address is missing.", remedy: "Send the field." },
  invalid_email: { meaning: "This is no e-mail address that the service takes.", remedy: "Correct it." },
  email_too_long: { meaning: "The field has more than 4096 bytes.", remedy: "Correct it." },
  password_required: { meaning: "The password is missing or empty.", remedy: "Send the field." },
  invalid_password: { meaning: "The password is not text.", remedy: "Send a text." },
  new_password_required: { meaning: "The new password is missing.", remedy: "Send the field." },
  invalid_new_password: { meaning: "The new password is not text.", remedy: "Send a text." },
  password_too_short: { meaning: "The password has fewer than PASSWORD_MIN characters.", remedy: "Take a longer one." },
  password_too_long: { meaning: "The password is longer than the service takes.", remedy: "Take a shorter one." },
  password_malformed: { meaning: "The password is not well-formed Unicode.", remedy: "Correct the client." },
  password_blank: { meaning: "The password has blanks only.", remedy: "Take another one." },
  password_common: {
    meaning: "The password is among the most used ones, or one of them with digits or signs.",
    remedy: "Take another one.",
  },
  password_pattern: {
    meaning: "The password has only repeated or sequential characters.",
    remedy: "Take another one.",
  },
  password_personal: {
    meaning: "The password is the e-mail address, its part before the @, or the name.",
    remedy: "Take another one.",
  },
  password_forbidden_word: {
    meaning: "The password has a word of PASSWORD_FORBIDDEN_WORDS.",
    remedy: "Take another one.",
  },
  password_breached: { meaning: "The password is in PASSWORD_BREACH_FILE.", remedy: "Take another one." },
  name_required: { meaning: "The name is missing.", remedy: "Send the field; null removes the name." },
  invalid_name: {
    meaning: "The name is empty, has more than 80 characters, control characters, or is not text.",
    remedy: "Correct it.",
  },
  name_too_long: { meaning: "The field has more than 4096 bytes.", remedy: "Correct it." },
  token_required: { meaning: "The token of the mail is missing.", remedy: "Send the field." },
  invalid_token: { meaning: "The token of the mail is not text.", remedy: "Send a text." },
  avatar_required: { meaning: "The form has no image, or an empty one.", remedy: "Send an image." },
  invalid_avatar: { meaning: "The avatar is a text field of the form.", remedy: "Send it as a file." },
  avatar_damaged: { meaning: "The image is damaged or not complete.", remedy: "Send another one." },
  avatar_animated: { meaning: "The image is animated.", remedy: "Send a still image." },
  avatar_dimensions: {
    meaning: "The image has fewer than 16 or more than 4096 pixels on a side; a JPEG may have 50 megapixels.",
    remedy: "Send another one.",
  },
  avatar_complex: { meaning: "The image takes too long to decode.", remedy: "Send a smaller or simpler one." },
} as const satisfies ErrorTable;

/** The error codes with which the account service refuses to start. */
export const START_ERRORS = {
  TOKEN_KEYS_INVALID: {
    meaning: "The key file or a kept secret cannot be used.",
    remedy: "Correct the file that the message names.",
  },
  DATA_DIRECTORY_UNUSABLE: {
    meaning: "DATA_DIR cannot be made or written.",
    remedy: "Give the service a directory it owns, or set DATA_DIR to another one.",
  },
  STORE_UNUSABLE: {
    meaning:
      "The user store cannot be opened: its file is damaged, a newer version of the service wrote it, or its URI is wrong.",
    remedy: "Check the file or the setting that the message names, or run the version that wrote the file.",
  },
  DATA_DIRECTORY_IN_USE: {
    meaning: "Another process has DATA_DIR: the embedded store is for one process.",
    remedy: "Stop the other process, or set DATA_DIR to another folder; several processes need STORE=mongo.",
  },
  BACKUP_FAILED: {
    meaning: "The embedded database could not be copied; no file was left.",
    remedy: "Correct what the message names: a file that exists, a full disk, a missing folder.",
  },
  IMAGE_PROCESS_UNUSABLE: {
    meaning: "The process that decodes avatars does not start.",
    remedy: "Install the packages for this machine (npm ci); the message ends with the reason.",
  },
  BREACH_FILE_INVALID: {
    meaning: "PASSWORD_BREACH_FILE cannot be read, or is not a list of SHA-1 hashes ordered by hash.",
    remedy: "Download the SHA-1 list of Have I Been Pwned as one file, ordered by hash.",
  },
} as const satisfies ErrorTable;

/** Codes of errors that end a call. */
export type CallErrorCode = keyof typeof CALL_ERRORS;

/** Codes of errors of a field. */
export type FieldErrorCode = keyof typeof FIELD_ERRORS | CallErrorCode;

/** Codes of errors that end the start. */
export type StartErrorCode = keyof typeof START_ERRORS;

/** The fault of one input of a call; `field` is its name in the request. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
  readonly code: FieldErrorCode;
}

export interface AccountErrorDetails {
  /** Inputs at fault, in the order of the form. */
  readonly fields?: readonly FieldError[];
  /** Whole seconds after which a retry makes sense; becomes Retry-After. */
  readonly retryAfterSeconds?: number;
  /** Methods that the path serves; becomes Allow. */
  readonly allow?: readonly string[];
  /** True if the answer clears both cookies; undefined: as refusals of the call do. */
  readonly clearCookies?: boolean;
  readonly cause?: unknown;
  readonly transient?: boolean;
}

/**
 * Ends a call with a code; `message` is shown to the person who made it, so it holds no input
 * and no internal detail.
 */
export class AccountError extends ServiceError<CallErrorCode> {
  override readonly name = "AccountError";
  readonly details: AccountErrorDetails;

  constructor(code: CallErrorCode, message: string, details: AccountErrorDetails = {}) {
    super(code, message, {
      cause: details.cause,
      transient: details.transient ?? details.retryAfterSeconds !== undefined,
    });
    this.details = details;
  }
}

/** Ends the start of the service; `message` is for the operator. */
export class StartError extends ServiceError<StartErrorCode> {
  override readonly name = "StartError";
}

/** An error about exactly one input: its message is also that of the error, and so is its code by default. */
export function fieldError(code: CallErrorCode, field: Omit<FieldError, "code"> & Partial<FieldError>): AccountError {
  return new AccountError(code, field.message, { fields: [{ ...field, code: field.code ?? code }] });
}

/** `rate_limited`, with the whole seconds to wait, at least 1. */
export function rateLimited(retryAfterSeconds: number): AccountError {
  const unit = retryAfterSeconds === 1 ? "second" : "seconds";
  const message = `Too many attempts. Try again in ${retryAfterSeconds} ${unit}.`;
  return new AccountError("rate_limited", message, { retryAfterSeconds });
}
