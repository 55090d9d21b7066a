// Reads a JSON body with express' parser and puts what it refuses into our own errors.
import express from "express";
import type { RequestHandler } from "express";
import { AccountError } from "../errors.ts";

/** Largest JSON body in bytes, after decompression. */
const BODY_MAX_BYTES = 16 * 1024;

const parse = express.json({ limit: BODY_MAX_BYTES, strict: false, type: "application/json" });

/** Leaves the parsed body in `request.body`; only application/json in UTF-8 is taken, which also makes foreign pages ask first (CORS). */
export const readJsonBody: RequestHandler = (request, response, next) => {
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    next(new AccountError("unsupported_media_type", "Send the body as application/json."));
    return;
  }
  parse(request, response, (error: unknown) => {
    if (error !== undefined && error !== null) next(bodyError(error));
    else if (request.body === undefined) next(malformedJson());
    else next();
  });
};

function bodyError(error: unknown): AccountError {
  const status: unknown = error instanceof Error && "status" in error ? error.status : undefined;
  switch (status) {
    case 413:
      return new AccountError("body_too_large", `The body must have at most ${String(BODY_MAX_BYTES)} bytes.`, { cause: error });
    case 415:
      return new AccountError("unsupported_media_type", "Send the body in UTF-8, plain or compressed with gzip, deflate or br.", {
        cause: error,
      });
    default:
      return malformedJson(error);
  }
}

function malformedJson(cause?: unknown): AccountError {
  return new AccountError("malformed_json", "The body must be a JSON object.", { cause });
}
