// The body of a /json request: read within bounds, and parsed as strict proto3 JSON (both spellings
// of field names, unknown fields refused).
import type { IncomingMessage } from "node:http";

import { fromJsonString } from "@bufbuild/protobuf";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

/** Longest body, in bytes. */
const BODY_MAX_BYTES = 1024 * 1024;

/**
 * Most bytes of unfinished bodies, of all requests together: slow clients must not fill the memory.
 */
const UNFINISHED_MAX_BYTES = 64 * 1024 * 1024;

/** Longest reason that an answer quotes from the parser, in characters. */
const REASON_MAX = 300;

const TOO_LARGE = `the body must not be longer than ${BODY_MAX_BYTES} bytes`;
const TOO_MANY = "the bodies of too many requests are on their way";

/** The result of reading a body. An aborted request needs no answer. */
export type Body =
  | { readonly kind: "read"; readonly bytes: Buffer }
  | { readonly kind: "refused"; readonly status: 413 | 503; readonly message: string }
  | { readonly kind: "aborted" };

/** A request, or the reason why the body is none. */
export type ParsedBody =
  { readonly ok: true; readonly request: RateLimitRequest } | { readonly ok: false; readonly message: string };

/** Returns true if the request announces a body that will be refused. */
export function isTooLong(request: IncomingMessage): boolean {
  return Number(request.headers["content-length"]) > BODY_MAX_BYTES;
}

/** Reads bodies. A body that is too long is not read; its connection closes after the answer. */
export class BodyReader {
  readonly #unfinishedMaxBytes: number;
  #unfinishedBytes = 0;

  constructor(unfinishedMaxBytes: number = UNFINISHED_MAX_BYTES) {
    this.#unfinishedMaxBytes = unfinishedMaxBytes;
  }

  /** Reads the whole body of a request. Never rejects. */
  read(request: IncomingMessage): Promise<Body> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      const end = (body: Body): void => {
        this.#unfinishedBytes -= sizeBytes;
        sizeBytes = 0;
        chunks.length = 0;
        resolve(body);
      };
      const refuse = (status: 413 | 503, message: string): void => {
        request.off("data", take).pause();
        end({ kind: "refused", status, message });
      };
      const take = (chunk: Buffer): void => {
        sizeBytes += chunk.length;
        this.#unfinishedBytes += chunk.length;
        if (sizeBytes > BODY_MAX_BYTES) refuse(413, TOO_LARGE);
        else if (this.#unfinishedBytes > this.#unfinishedMaxBytes) refuse(503, TOO_MANY);
        else chunks.push(chunk);
      };
      if (isTooLong(request)) {
        refuse(413, TOO_LARGE);
        return;
      }
      request.on("data", take);
      request.on("end", () => end({ kind: "read", bytes: Buffer.concat(chunks) }));
      request.on("close", () => end({ kind: "aborted" })); // After "end" this comes too late to matter.
      request.on("error", () => end({ kind: "aborted" }));
    });
  }
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
