// Reads a JSON body with express' parser, and converts its errors to those of the service.
import express from "express";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { AccountError } from "../errors.ts";
import { endWhenLate } from "./late-body.ts";

/** Largest JSON body in bytes, after decompression. */
const BODY_MAX_BYTES = 16 * 1024;

/**
 * Leaves the parsed body in `request.body`; only application/json is taken, which also makes
 * foreign pages ask first (CORS). The parser refuses with errors of its own; `bodyErrorOf` translates
 * them.
 */
export const READ_JSON_BODY: readonly RequestHandler[] = [
  requireJson,
  endWhenLate(express.json({ limit: BODY_MAX_BYTES, strict: false, type: "application/json" })),
  requireBody,
];

/** The error for what express' parser refused; undefined when the error is not the parser's. */
export function bodyErrorOf(error: unknown): AccountError | undefined {
  if (error instanceof Error && "code" in error && String(error.code).startsWith("Z_")) return malformedJson(error); // zlib's errors.
  const type: unknown = error instanceof Error && "type" in error ? error.type : undefined;
  switch (type) {
    case "entity.too.large":
      return new AccountError("body_too_large", `The body must have at most ${BODY_MAX_BYTES} bytes.`, {
        cause: error,
      });
    case "charset.unsupported":
    case "encoding.unsupported":
      return new AccountError(
        "unsupported_media_type",
        "Send the body in UTF-8, plain or compressed with gzip, deflate or br.",
        {
          cause: error,
        },
      );
    case "entity.parse.failed":
    case "request.size.invalid":
    case "request.aborted":
      return malformedJson(error);
    default:
      return undefined;
  }
}

function requireJson(request: Request, _response: Response, next: NextFunction): void {
  if (/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) next();
  else next(new AccountError("unsupported_media_type", "Send the body as application/json."));
}

/** Without a body the parser leaves nothing behind, not even an empty object. */
function requireBody(request: Request, _response: Response, next: NextFunction): void {
  if (request.body === undefined) next(malformedJson());
  else next();
}

function malformedJson(cause?: unknown): AccountError {
  return new AccountError("malformed_json", "The body must be a JSON object.", { cause });
}
