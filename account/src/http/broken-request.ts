// The answers to requests that are too broken, too long or too slow to reach the application, in
// the same form as its own.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { HttpRefusal, RefusalAnswer } from "@weir/common/net/http-refusal";
import { AccountError } from "../errors.ts";
import { COMMON_HEADERS } from "./answer.ts";
import { corsHeaders, type OriginOptions } from "./cross-site.ts";
import { errorBody } from "../api/error-status.ts";
import { requestTimeout } from "./late-body.ts";

/**
 * The answer to a request that the listener refuses; a page of a listed origin can read it when the
 * header of the request was read.
 */
export function brokenRequestAnswer(
  { status }: HttpRefusal,
  request: IncomingMessage | undefined,
  origins: OriginOptions,
): RefusalAnswer {
  const requestId = randomUUID();
  return {
    type: "application/json; charset=utf-8",
    headers: { ...COMMON_HEADERS, ...corsHeaders(request?.headers.origin, origins), "X-Request-Id": requestId },
    body: JSON.stringify(errorBody(errorOf(status), requestId)),
  };
}

function errorOf(status: HttpRefusal["status"]): AccountError {
  switch (status) {
    case 408:
      return requestTimeout();
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
