// Writes answers: the headers every answer has, JSON bodies, and the end of requests whose body was
// not read.
import type { IncomingMessage, ServerResponse } from "node:http";
import { hasBody } from "@weir/common/net/body-watch";

/** Headers of every answer; media-route.ts replaces some for images. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin", // No page may embed an answer as a script or image; CORS is not affected.
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  Vary: "Origin",
};

/**
 * How much of an unread body is taken in after the answer, in bytes: browsers read an answer only when
 * they have sent the whole body, and photographs of telephones have up to 20 MiB. The pace of bodies
 * bounds the time.
 */
const DRAIN_MAX_BYTES = 32 * 1024 * 1024;

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

/** Reads and forgets the rest of the body within bounds, then calls `done` once. */
function drain(request: IncomingMessage, done: () => void): void {
  let remaining = DRAIN_MAX_BYTES;
  const finish = (): void => {
    request.off("data", count).off("end", finish).off("close", finish);
    done();
  };
  const count = (chunk: Buffer): void => {
    remaining -= chunk.length;
    if (remaining < 0) finish();
  };
  request.on("data", count).on("end", finish).on("close", finish);
  request.resume();
}
