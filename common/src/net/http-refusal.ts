// Answers for bytes that are no HTTP request, or one that is too long or comes too slowly: what
// Node has refused before any handler hears of it.
import type { Duplex } from "node:stream";

/** Why, as status and in words. */
export interface HttpRefusal {
  readonly status: 400 | 408 | 413 | 431;
  readonly message: string;
}

/** The body of the answer. */
export interface RefusalBody {
  readonly type: string;
  readonly body: string;
}

const REASON_PHRASE = {
  400: "Bad Request",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
} as const;

/**
 * What to tell the client of an error of Node's server; undefined when nobody is there to be told.
 */
export function findHttpRefusal(error: NodeJS.ErrnoException): HttpRefusal | undefined {
  switch (error.code) {
    case "ECONNRESET":
    case "EPIPE":
      return undefined;
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "the header of the request must not be longer than 16 KiB" };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, message: "the chunk extensions of the request are too long" };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "the request did not come in time" };
    default:
      return { status: 400, message: "the bytes are no HTTP/1.1 request" };
  }
}

/**
 * How long a client has to read the answer and to close the connection, in milliseconds. Afterwards
 * it is closed without it.
 */
const CLOSE_MAX_MS = 5000;

/**
 * Writes the answer and closes the connection, also when the client never does: nothing else would
 * end what Node has given up.
 */
export function endWithRefusal(
  socket: Duplex,
  { status }: HttpRefusal,
  { type, body }: RefusalBody,
  closeMaxMs: number = CLOSE_MAX_MS,
): void {
  const timer = setTimeout(() => socket.destroy(), closeMaxMs).unref();
  socket.once("close", () => clearTimeout(timer));
  const head = [
    `HTTP/1.1 ${status} ${REASON_PHRASE[status]}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "X-Content-Type-Options: nosniff",
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
