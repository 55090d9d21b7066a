// Inputs for listeners that speak HTTP/1.1: random bytes, broken requests, and well-formed requests
// with broken JSON.
import { mutate } from "@weir/harness/processes/mutation";
import type { Random } from "@weir/harness/processes/random";

/** Header lines that mean something to a server, in good and in bad forms. */
const HEADER_LINES = [
  ...Object.entries({
    Connection: ["close", "keep-alive, upgrade"],
    Upgrade: ["h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA", "websocket"],
    Expect: ["100-continue", "nothing"],
    "Transfer-Encoding": ["chunked", "gzip, chunked"],
    "Transfer-Encoding ": ["chunked"],
    "Content-Length": ["5", "-1", "99999999999999999999", "0x10"],
    "Content-Type": ["application/json"],
    "Content-Encoding": ["gzip"],
    Host: ["a\r\nHost: b"],
    Cookie: ["a=b"],
    "X-Forwarded-For": ["10.0.0.1"],
    traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-zz-zz-zz"],
    b3: ["1-2-3-4"],
    " folded": ["line"],
    Range: ["bytes=0-1"],
  }).flatMap(([name, values]) => values.map((value) => `${name}: ${value}`)),
  "no colon",
];

const METHODS = "GET GET POST HEAD PUT OPTIONS DELETE CONNECT TRACE PRI M-SEARCH get \u00ff".split(" ");

const VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "http/1.1", ""] as const;

/** The paths and the body that a listener of HTTP/1.1 accepts. */
export interface Http1Target {
  /** Paths that it has and that cost little. */
  readonly paths: readonly string[];
  /** A body that it understands; undefined when it takes none. */
  readonly body: string | undefined;
}

/** Bytes that may be a request, several, or none. */
export function brokenRequest(random: Random, target: Http1Target): Buffer {
  switch (random.below(8)) {
    case 0:
      return random.bytes(random.between(1, 300));
    case 1:
      return Buffer.concat([
        request(random, target),
        request(random, target),
        mutate(random, request(random, target), 2),
      ]);
    case 2:
      return request(random, target);
    case 3:
      return write("GET", `${random.pick(target.paths)}${"x".repeat(random.pick([100, 20_000]))}`, "", "");
    default:
      return mutate(random, request(random, target), random.between(1, 6));
  }
}

/**
 * A request that is well-formed as HTTP, so that it is answered and the connection stays; its path
 * and body are whatever.
 */
export function oddRequest(random: Random, target: Http1Target): Buffer {
  const path = random.oneIn(target.body === undefined ? 2 : 10)
    ? randomPath(random, target)
    : random.pick(target.paths);
  return requestWith(random, path, "", bodyOf(random, target));
}

/** How an answer begins. */
export const ANSWER_START = "HTTP/1.1 ";

/** A request that the listener answers with status 200. */
export function goodRequest(target: Http1Target): Buffer {
  return write(target.body === undefined ? "GET" : "POST", target.paths[0] ?? "/", "", target.body ?? "");
}

function request(random: Random, target: Http1Target): Buffer {
  const lines = Array.from({ length: random.below(4) }, () => `${random.pick(HEADER_LINES)}\r\n`).join("");
  const method = random.pick(METHODS);
  const path = random.oneIn(3) ? randomPath(random, target) : random.pick(target.paths);
  if (random.oneIn(3))
    return Buffer.from(
      `${method} ${path} ${random.pick(VERSIONS)}\r\nHost: x\r\n${lines}\r\n${target.body ?? ""}`,
      "latin1",
    );
  if (random.oneIn(4)) return chunked(random, path, lines, target.body ?? "");
  return requestWith(random, path, lines, Buffer.from(target.body ?? ""));
}

function requestWith(random: Random, path: string, lines: string, body: Buffer): Buffer {
  const method = body.length > 0 ? "POST" : random.pick(["GET", "HEAD", "OPTIONS"]);
  return write(method, path, lines, body.toString("latin1"));
}

function write(method: string, path: string, lines: string, body: string): Buffer {
  const length = method === "POST" ? `Content-Length: ${body.length}\r\n` : "";
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${length}${lines}\r\n${body}`, "latin1");
}

function chunked(random: Random, path: string, lines: string, body: string): Buffer {
  const chunks = [];
  for (let at = 0; at < body.length;) {
    const size = random.between(1, 40);
    const piece = body.slice(at, at + size);
    chunks.push(
      `${random.oneIn(30) ? random.pick(["g", "-1", "ffffffffff", ""]) : piece.length.toString(16)}${random.oneIn(10) ? ";x=y" : ""}\r\n${piece}\r\n`,
    );
    at += size;
  }
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${lines}\r\n${chunks.join("")}0\r\n\r\n`,
    "latin1",
  );
}

function randomPath(random: Random, { paths }: Http1Target): string {
  const path = random.pick(paths);
  switch (random.below(4)) {
    case 0:
      return `${path}?${random.bytes(random.between(0, 20)).toString("base64")}`;
    case 1:
      return `//${path}/..%00%ff`;
    case 2:
      return `http://[${path}`;
    default:
      return `/${random.bytes(6).toString("hex")}`;
  }
}

function bodyOf(random: Random, { body }: Http1Target): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  switch (random.below(6)) {
    case 0:
      return random.bytes(random.between(1, 100));
    case 1:
      return Buffer.from("[".repeat(random.between(1, 20_000)));
    case 2:
      return Buffer.from('{"a":'.repeat(random.between(1, 5000)));
    default:
      return mutate(random, Buffer.from(body), random.between(1, 5));
  }
}
