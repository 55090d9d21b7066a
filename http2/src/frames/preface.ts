// The first bytes of a connection: those of HTTP/2, of HTTP/1, or of something else.

/** The bytes that an HTTP/2 client sends first (RFC 9113, 3.4). */
export const CLIENT_PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The longest HTTP/1 request line that is recognised, in bytes. */
const REQUEST_LINE_MAX_BYTES = 2048;

/** The first line of an HTTP/1 request, or its beginning. */
const REQUEST_LINE = /^[A-Z]+ [^ ]+ HTTP\/1\.[01]\r?$/;
const REQUEST_LINE_START = /^[A-Z]{1,32}( [^ \r\n]*( [^ \r\n]*\r?)?)?$/;

/** The kind of the first bytes; "incomplete" may become each of the others. */
export type Preface = "http2" | "http1" | "foreign" | "incomplete";

/** Classifies the first bytes of a connection. */
export function classifyPreface(bytes: Buffer): Preface {
  const length = Math.min(bytes.length, CLIENT_PREFACE.length);
  if (bytes.compare(CLIENT_PREFACE, 0, length, 0, length) === 0)
    return length === CLIENT_PREFACE.length ? "http2" : "incomplete";
  const text = bytes.toString("latin1", 0, REQUEST_LINE_MAX_BYTES);
  const lineEnd = text.indexOf("\n");
  if (lineEnd >= 0) return REQUEST_LINE.test(text.slice(0, lineEnd)) ? "http1" : "foreign";
  return text.length < REQUEST_LINE_MAX_BYTES && REQUEST_LINE_START.test(text) ? "incomplete" : "foreign";
}

/** The answer to an HTTP/1 request: this port has nothing for it. */
export const HTTP1_REFUSAL: Buffer = refuseHttp1("This port speaks HTTP/2 (gRPC), not HTTP/1.\n");

function refuseHttp1(text: string): Buffer {
  return Buffer.from(
    "HTTP/1.1 505 HTTP Version Not Supported\r\n" +
      "Content-Type: text/plain; charset=utf-8\r\n" +
      `Content-Length: ${text.length}\r\n` +
      `Connection: close\r\n\r\n${text}`,
    "latin1",
  );
}
