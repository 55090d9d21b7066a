// The body of a /json request: read within bounds, and parsed as strict proto3 JSON (both spellings of field names, unknown fields refused).
import type { IncomingMessage } from "node:http";

import { fromJsonString } from "@bufbuild/protobuf";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

/** Longest body, in bytes. */
const BODY_MAX_BYTES = 1024 * 1024;

/** Longest reason that an answer quotes from the parser, in characters. */
const REASON_MAX = 300;

/** What became of reading a body. Nobody waits for the answer to an aborted request. */
export type Body =
  | { readonly kind: "read"; readonly bytes: Buffer }
  | { readonly kind: "too large"; readonly message: string }
  | { readonly kind: "aborted" };

/** A request, or in words why the body is none. */
export type ParsedBody = { readonly ok: true; readonly request: RateLimitRequest } | { readonly ok: false; readonly message: string };

/** Whether the request announces a body that will be refused. */
export function isTooLong(request: IncomingMessage): boolean {
  return Number(request.headers["content-length"]) > BODY_MAX_BYTES;
}

/** Reads the whole body. One that is too long is not read to its end; its connection closes after the answer. */
export function readBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    const refuse = (): void => {
      request.pause();
      resolve({ kind: "too large", message: `the body must not be longer than ${BODY_MAX_BYTES} bytes` });
    };
    if (isTooLong(request)) {
      refuse();
      return;
    }
    request.on("data", (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes > BODY_MAX_BYTES) refuse();
      else chunks.push(chunk);
    });
    request.on("end", () => resolve({ kind: "read", bytes: Buffer.concat(chunks) }));
    request.on("close", () => resolve({ kind: "aborted" })); // After "end" this comes too late to matter.
    request.on("error", () => resolve({ kind: "aborted" }));
  });
}

/** Parses a body. */
export function parseRequestBody(bytes: Uint8Array): ParsedBody {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { ok: false, message: "the body is no RateLimitRequest as JSON: it is not UTF-8" };
  }
  if (text.trim() === "") return { ok: false, message: "the body is empty, it must be a RateLimitRequest as JSON" };
  try {
    return { ok: true, request: fromJsonString(RateLimitRequestSchema, text) };
  } catch (error) {
    // The parser throws for every body that is no such message; its reason names the field.
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, message: `the body is no RateLimitRequest as JSON: ${reason.slice(0, REASON_MAX)}` };
  }
}
