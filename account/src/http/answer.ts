// Writes answers: the headers every answer has, JSON bodies, and the end of requests whose body was
// not read.
import type { IncomingMessage, ServerResponse } from "node:http";

/** Headers of every answer; media-route.ts replaces some for images. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  Vary: "Origin",
};

/**
 * How much of an unread body is taken in after the answer, in bytes, so that the client gets to
 * read the answer.
 */
const DRAIN_MAX_BYTES = 1024 * 1024;

/** How long the rest of an unread body is awaited, in milliseconds. */
const DRAIN_TIMEOUT_MS = 2000;

/** Answers with a JSON body. */
export function sendJson(response: ServerResponse, status: number, body: object, mediaType = "application/json"): void {
  const request = response.req;
  const bytes = Buffer.from(JSON.stringify(body));
  response.statusCode = status;
  response.setHeader("Content-Type", `${mediaType}; charset=utf-8`);
  response.setHeader("Content-Length", bytes.length);
  if (request.complete || !hasBody(request)) {
    response.end(bytes);
    return;
  }
  // The client is still sending. Closing immediately would reset the connection, and browsers would
  // show that and not the answer.
  response.setHeader("Connection", "close");
  response.write(bytes);
  drain(request, () => {
    response.end();
    if (!request.complete) request.destroy();
  });
}

/**
 * Whether the request has a body at all (RFC 9112 section 6); Node calls one without complete only
 * after its handler ran.
 */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Reads and forgets the rest of the body within bounds, then calls `done` once. */
function drain(request: IncomingMessage, done: () => void): void {
  let remaining = DRAIN_MAX_BYTES;
  const finish = (): void => {
    clearTimeout(timer);
    request.off("data", count).off("end", finish).off("close", finish);
    done();
  };
  const count = (chunk: Buffer): void => {
    remaining -= chunk.length;
    if (remaining < 0) finish();
  };
  const timer = setTimeout(finish, DRAIN_TIMEOUT_MS);
  request.on("data", count).on("end", finish).on("close", finish);
  request.resume();
}
