// The answers to what Node refuses before a handler sees it: bytes that are no HTTP request, and
// requests that are too long or come too slowly.
import type { Duplex } from "node:stream";

import { STATUS_CODES } from "./node-http.ts";

/** Why a request is refused: as status and in words. */
export interface HttpRefusal {
  readonly status: 400 | 408 | 413 | 431;
  readonly message: string;
}

/** The answer in a listener's own format. */
export interface RefusalAnswer {
  /** The media type of the body. */
  readonly type: string;
  readonly body: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The refusal for an error of Node's server; undefined when the connection is gone. */
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
 * Writes the answer and closes the connection, after `closeMaxMs` also without the client: Node has
 * given the connection up, and nothing else would close it.
 */
export function endWithRefusal(
  socket: Duplex,
  { status }: HttpRefusal,
  { type, body, headers }: RefusalAnswer,
  closeMaxMs: number,
): void {
  destroyAfter(socket, closeMaxMs);
  const all = {
    "Content-Type": type,
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Content-Type-Options": "nosniff",
    ...headers,
    Connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}

/** Closes a connection that is still open after `ms` milliseconds. */
export function destroyAfter(socket: Duplex, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms).unref();
  socket.once("close", () => clearTimeout(timer));
}
