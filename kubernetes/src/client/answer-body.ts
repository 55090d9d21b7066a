// Reads the bodies of the API server's answers, each within its bounds.
import type { Dispatcher } from "undici";

import { ApiFailure, type ApiRequest, failureOfAnswer } from "./api-failure.ts";
import { readWatchEvent, type WatchEvent } from "./kubernetes-object.ts";

/**
 * Longest list or page, in bytes, decompressed: while it is parsed, everything else waits. A single
 * object has at most some 3 MiB.
 */
const PAGE_MAX_BYTES = 16 * 1024 * 1024;

/** Longest event, in UTF-16 code units, of which no text has more than bytes. */
const LINE_MAX_LENGTH = 8 * 1024 * 1024;

/** Longest part of an error answer that is read, in bytes. */
const ERROR_MAX_BYTES = 64 * 1024;

/** The JSON of an answer; undefined when it is none. Throws ApiFailure when it is too long. */
export async function readJson(body: AsyncIterable<Buffer>, request: ApiRequest): Promise<unknown> {
  const text = await readBody(body, PAGE_MAX_BYTES);
  if (text === undefined)
    throw new ApiFailure("too-large", request, `the answer has more than ${PAGE_MAX_BYTES} bytes`);
  return parseJson(text);
}

/**
 * The failure that an answer of 300 or more is. The limit on the time is that of all answers, also when
 * the request is a watch, which may be silent for longer.
 */
export async function failureOfResponse(
  request: ApiRequest,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  timeoutMs: number,
): Promise<ApiFailure> {
  const reason = `the rest of the answer with HTTP status ${statusCode} was not received within ${timeoutMs / 1000} s`;
  const timer = setTimeout(() => body.destroy(new Error(reason)), timeoutMs);
  try {
    const status = parseJson((await readBody(body, ERROR_MAX_BYTES)) ?? "");
    return failureOfAnswer(request, {
      status,
      code: statusCode,
      retryAfterSeconds: Number(headers["retry-after"] ?? 0),
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The complete lines of a body. A connection that is cut in the middle of a line fails instead. */
export async function* linesOf(body: Dispatcher.ResponseData["body"], request: ApiRequest): AsyncGenerator<string> {
  let line = "";
  for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
    const [rest = "", ...next] = chunk.split("\n");
    line += rest;
    for (const begun of next) {
      yield line;
      line = begun;
    }
    if (line.length > LINE_MAX_LENGTH)
      throw new ApiFailure("broken", request, `an event has more than ${LINE_MAX_LENGTH} bytes`);
  }
}

/** The event of a line. Throws ApiFailure when it is none, or says that the watch has failed. */
export function readEvent(line: string, request: ApiRequest): Exclude<WatchEvent, { readonly kind: "error" }> {
  const event = readWatchEvent(parseJson(line));
  if (event === undefined)
    throw new ApiFailure("broken", request, `an event cannot be understood: ${line.slice(0, 100)}`);
  if (event.kind === "error") throw failureOfAnswer(request, { status: event.status, code: 500 });
  return event;
}

/** The whole text; undefined when it is too long. */
async function readBody(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The value; undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Callers check the value.
  }
}
