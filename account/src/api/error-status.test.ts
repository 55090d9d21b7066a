import { describe, expect, it } from "vitest";
import { AccountError, fieldError } from "../errors.ts";
import { errorBody, errorHeaders, failureOf, problemBody } from "./error-status.ts";

describe("errorBody()", () => {
  it("carries message, code, status, inputs and the request's id", () => {
    const error = fieldError("email_taken", { field: "email", message: "Taken.", code: "email_taken" });
    expect(errorBody(error, "id-12345")).toEqual({
      message: "Taken.",
      code: "email_taken",
      status: 409,
      errors: [{ field: "email", message: "Taken.", code: "email_taken" }],
      requestId: "id-12345",
    });
  });
});

describe("problemBody()", () => {
  it("adds the members of RFC 9457", () => {
    expect(problemBody(errorBody(new AccountError("not_found", "Nothing here."), "id-12345"))).toMatchObject({
      type: "urn:account:error:not_found",
      title: "not found",
      detail: "Nothing here.",
      errors: [],
    });
  });
});

describe("failureOf()", () => {
  it.each([
    { code: "validation_failed", result: "invalid" },
    { code: "malformed_json", result: "invalid" },
    { code: "session_revoked", result: "invalid" },
    { code: "request_timeout", result: "invalid" },
    { code: "invalid_credentials", result: "invalid_credentials" },
    { code: "email_taken", result: "email_taken" },
    { code: "busy", result: "busy" },
    { code: "database_unavailable", result: "fault" },
    { code: "media_store_unavailable", result: "fault" },
    { code: "internal", result: "fault" },
  ] as const)("failureOf() counts $code as $result", ({ code, result }) => {
    expect(failureOf(code)).toBe(result);
  });
});

describe("errorHeaders()", () => {
  it.each([
    { error: new AccountError("busy", "x", { retryAfterSeconds: 1 }), headers: { "Retry-After": "1" } },
    { error: new AccountError("method_not_allowed", "x", { allow: ["GET", "HEAD"] }), headers: { Allow: "GET, HEAD" } },
    { error: new AccountError("token_expired", "x"), headers: { "WWW-Authenticate": 'Cookie realm="account"' } },
    { error: new AccountError("not_found", "x"), headers: {} },
  ])("gives $headers for $error.code", ({ error, headers }) => {
    expect(errorHeaders(error)).toEqual(headers);
  });
});
