// Turns the error of a call into an answer. The last handler of the app, and the only place that
// logs a failed call.
import type { ErrorRequestHandler, Request, Response } from "express";
import { describeError } from "@weir/common/errors/service-error";
import type { LogLevel } from "@weir/common/log/log";
import { maskCredentials } from "@weir/common/settings/secret";
import { AccountError } from "../errors.ts";
import type { CookieOptions } from "../sessions/cookies.ts";
import { sendJson } from "./answer.ts";
import { clearSessionCookies } from "./call-cookies.ts";
import { ERROR_STATUS, errorBody, errorHeaders, problemBody } from "../api/error-status.ts";
import { bodyErrorOf } from "./json-body.ts";
import { contextOf, describeRequest } from "./request-context.ts";

/** Levels of failed calls that are not errors: expected under load; logged once per reason by watch-store.ts. */
const LEVELS: Readonly<Record<string, LogLevel>> = { busy: "warn", database_unavailable: "debug" };

/** Answers failed calls. */
export function answerErrors(cookies: CookieOptions): ErrorRequestHandler {
  return (error: unknown, request: Request, response: Response, _next) => {
    const failure = toAccountError(error);
    const context = contextOf(response);
    const { caller, clearCookiesWhenRefused, id } = context;
    context.failure ??= failure.code;
    const status = ERROR_STATUS[failure.code];
    response.statusCode = status;
    if (status >= 500) {
      const reason = maskCredentials(describeError(error));
      const stack =
        failure.code === "internal" && error instanceof Error ? { stack: maskCredentials(error.stack ?? "") } : {};
      caller.log[LEVELS[failure.code] ?? "error"]("Call failed", {
        ...describeRequest(request, response),
        status,
        code: failure.code,
        reason,
        ...stack,
      });
    }
    if (response.headersSent) {
      response.destroy(); // Part of an answer is sent, so only the end of the connection can report the error.
      return;
    }
    for (const [name, value] of Object.entries(errorHeaders(failure))) response.setHeader(name, value);
    if (failure.details.clearCookies ?? (clearCookiesWhenRefused && status === 401)) {
      clearSessionCookies(response, cookies);
    }
    const body = errorBody(failure, id);
    if (request.get("accept")?.includes("application/problem+json") === true) {
      sendJson(response, status, problemBody(body), "application/problem+json");
    } else {
      sendJson(response, status, body);
    }
  };
}

function toAccountError(error: unknown): AccountError {
  if (error instanceof AccountError) return error;
  const bodyError = bodyErrorOf(error);
  if (bodyError !== undefined) return bodyError;
  // express and its router give a status to the errors of a caller, such as a path that cannot be
  // decoded.
  if (error instanceof Error && "status" in error && error.status === 400) {
    return new AccountError("malformed_request", "The request cannot be read.", { cause: error });
  }
  return new AccountError("internal", "Something went wrong in the service. Try again later.", { cause: error });
}
