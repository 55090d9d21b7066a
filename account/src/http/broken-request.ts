// The answers to requests that are too broken, too long or too slow to reach the application, in
// the same form as its own.
import { randomUUID } from "node:crypto";
import type { HttpRefusal, RefusalAnswer } from "@weir/common/net/http-refusal";
import { AccountError } from "../errors.ts";
import { COMMON_HEADERS } from "./answer.ts";
import { errorBody } from "./error-status.ts";

/** The answer to a request that the listener refuses. */
export function brokenRequestAnswer({ status }: HttpRefusal): RefusalAnswer {
  const requestId = randomUUID();
  return {
    type: "application/json; charset=utf-8",
    headers: { ...COMMON_HEADERS, "X-Request-Id": requestId },
    body: JSON.stringify(errorBody(errorOf(status), requestId)),
  };
}

function errorOf(status: HttpRefusal["status"]): AccountError {
  switch (status) {
    case 408:
      return new AccountError("request_timeout", "The request did not arrive in time.");
    case 431:
      return new AccountError(
        "headers_too_large",
        "The headers of the request are too large. Clear the cookies of this site.",
      );
    case 413:
      return new AccountError("body_too_large", "The body is too large.");
    case 400:
      return new AccountError("malformed_request", "The request is not valid HTTP.");
  }
}
