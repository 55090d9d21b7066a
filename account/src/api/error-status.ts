// Maps error codes to HTTP, and makes the body of an error answer. A new code does not compile until
// it has a status.
import { z } from "zod";
import { type AccountError, CALL_ERRORS, type CallErrorCode, FIELD_ERRORS, type FieldErrorCode } from "../errors.ts";
import type { LoginResult, RefreshResult, RegistrationResult } from "../users/account-events.ts";

/** The HTTP status of every code that can end a call. */
export const ERROR_STATUS = {
  malformed_json: 400,
  malformed_multipart: 400,
  malformed_request: 400,
  validation_failed: 400,
  too_many_parts: 400,
  duplicate_field: 400,
  invalid_credentials: 401,
  not_authenticated: 401,
  token_expired: 401,
  token_invalid: 401,
  session_revoked: 401,
  refresh_token_reused: 401,
  cross_site_request: 403,
  account_locked: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  body_too_large: 413,
  avatar_too_large: 413,
  unsupported_media_type: 415,
  avatar_type: 415,
  headers_too_large: 431,
  internal: 500,
  media_store_unavailable: 503,
  database_unavailable: 503,
  busy: 503,
  avatar_invalid: 400,
  link_invalid: 400,
  mail_unavailable: 503,
  rate_limited: 429,
  rate_limit_unavailable: 503,
} as const satisfies Record<CallErrorCode, number>;

/** Codes with a result of their own in metrics. */
const OWN_RESULT: Readonly<Record<string, CallFailure>> = {
  invalid_credentials: "invalid_credentials",
  email_taken: "email_taken",
  refresh_token_reused: "reuse",
  busy: "busy",
};

/** How a call failed, as metrics count it. */
export type CallFailure = Exclude<
  LoginResult | RefreshResult | RegistrationResult,
  "success" | "rotated" | "grace" | "issued"
>;

/** The result of a call that ended with this code. */
export function failureOf(code: CallErrorCode): CallFailure {
  const own = OWN_RESULT[code];
  if (own !== undefined) return own;
  const status: number = ERROR_STATUS[code];
  if (status === 429) return "throttled";
  return status >= 500 ? "fault" : "invalid";
}

/** The body of every error answer. */
export const ERROR_BODY = z
  .object({
    message: z
      .string()
      .meta({ description: "A sentence for people. With exactly one bad input it is that input's message." }),
    code: z.enum(Object.keys(CALL_ERRORS) as CallErrorCode[]).meta({ description: "For programs." }),
    status: z.int().meta({ description: "The HTTP status." }),
    errors: z
      .array(
        z.object({
          field: z.string().meta({ description: "Name of the field in the request.", examples: ["email"] }),
          message: z.string().meta({ description: "A sentence to show next to the input." }),
          code: z.enum([...new Set([...Object.keys(FIELD_ERRORS), ...Object.keys(CALL_ERRORS)])] as FieldErrorCode[]),
        }),
      )
      .readonly()
      .meta({ description: "What is wrong with which input; empty when the error is not about inputs." }),
    requestId: z.string().meta({ description: "Also in the header X-Request-Id and in the log." }),
  })
  .meta({ id: "Error", description: "Why a call failed." });

/** The same as RFC 9457 wants it, for clients that ask for `application/problem+json`. */
export const PROBLEM_BODY = ERROR_BODY.extend({
  type: z.string().meta({ examples: ["urn:account:error:validation_failed"] }),
  title: z.string(),
  detail: z.string().meta({ description: "The same as `message`." }),
}).meta({ id: "Problem", description: "An error as RFC 9457 has it." });

type ErrorBody = Readonly<z.infer<typeof ERROR_BODY>>;
type ProblemBody = Readonly<z.infer<typeof PROBLEM_BODY>>;

/** The body for an error. */
export function errorBody(error: AccountError, requestId: string): ErrorBody {
  return {
    message: error.message,
    code: error.code,
    status: ERROR_STATUS[error.code],
    errors: error.details.fields ?? [],
    requestId,
  };
}

/** The body with the members of RFC 9457 added. */
export function problemBody(body: ErrorBody): ProblemBody {
  return {
    ...body,
    type: `urn:account:error:${body.code}`,
    title: body.code.replaceAll("_", " "),
    detail: body.message,
  };
}

/** The headers of an error, in addition to those of every answer. */
export function errorHeaders(error: AccountError): Readonly<Record<string, string>> {
  const { retryAfterSeconds, allow } = error.details;
  return {
    ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
    ...(allow !== undefined && { Allow: allow.join(", ") }),
    // RFC 9110 section 11.6.1 wants a challenge in every 401.
    ...(ERROR_STATUS[error.code] === 401 && { "WWW-Authenticate": 'Cookie realm="account"' }),
  };
}
