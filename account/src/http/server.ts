// The public listener: Node's HTTP server with our bounds, and JSON answers for what is too broken
// to reach the application.
import { randomUUID } from "node:crypto";
import { createServer, STATUS_CODES } from "node:http";
import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { listen } from "@weir/common/net/listen";
import { AccountError } from "../errors.ts";
import { COMMON_HEADERS } from "./answer.ts";
import { ERROR_STATUS, errorBody } from "./error-status.ts";

/** Largest block of request headers in bytes; a larger one is answered with 431. */
const HEADERS_MAX_BYTES = 16 * 1024;

/**
 * How long a connection may be quiet between requests, in milliseconds: longer than load balancers
 * keep theirs (60 s).
 */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** How long requests may take to arrive, in milliseconds. */
export interface ServerTimeouts {
  /** The header block. */
  readonly headersMs: number;
  /** The whole request. */
  readonly requestMs: number;
  /** How often connections are checked. */
  readonly checkIntervalMs: number;
}

/** The timeouts of the service. */
export const SERVER_TIMEOUTS: ServerTimeouts = { headersMs: 10_000, requestMs: 30_000, checkIntervalMs: 5000 };

/** How often connections that fell quiet are looked for during the stop, in milliseconds. */
const SWEEP_INTERVAL_MS = 50;

/** Where and how to listen. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly timeouts: ServerTimeouts;
  /** Most open connections; further ones are closed at once. */
  readonly connectionsMax: number;
  /** How long running requests may take at the stop, in milliseconds. */
  readonly graceMs: number;
}

/** The listener. */
export interface HttpServer extends Part {
  /** The address in force once started. */
  address(): { readonly host: string; readonly port: number } | undefined;
}

/** A listener that hands requests to `handle`. */
export function createHttpServer(handle: RequestListener, options: HttpServerOptions): HttpServer {
  const running = new Set<ServerResponse>();
  const take: RequestListener = (request, response) => {
    running.add(response);
    response.once("close", () => running.delete(response));
    handle(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: HEADERS_MAX_BYTES,
      headersTimeout: options.timeouts.headersMs,
      requestTimeout: options.timeouts.requestMs,
      connectionsCheckingInterval: options.timeouts.checkIntervalMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      requireHostHeader: false, // Node's own refusal has no body; app.ts refuses with one.
    },
    take,
  );
  server.on("checkExpectation", take); // An Expect header that means nothing to us; Node's own refusal has no body.
  server.maxConnections = options.connectionsMax;
  server.on("clientError", answerBrokenRequest);
  let address: { host: string; port: number } | undefined;
  return {
    name: "http server",
    async start() {
      address = await listen(server, { host: options.host, port: options.port, setting: "PORT", what: "HTTP" });
    },
    stop: () => close(server, running, options.graceMs),
    address: () => address,
  };
}

/**
 * Takes no new connections, lets running requests finish, and after the grace period closes what is
 * left.
 */
async function close(server: Server, running: ReadonlySet<ServerResponse>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  // A client that is told may open a new connection elsewhere; one that is not finds its kept one
  // closed.
  for (const response of running) if (!response.headersSent) response.setHeader("Connection", "close");
  const sweep = setInterval(() => {
    server.closeIdleConnections(); // Node does it once; connections whose answer was on its way fall quiet later.
  }, SWEEP_INTERVAL_MS);
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}

/** Node answers broken requests without a body; clients of this service show `message`. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable || hasAnswered(socket)) {
    socket.destroy();
    return;
  }
  const failure = brokenRequestError(error.code);
  const requestId = randomUUID();
  const status = ERROR_STATUS[failure.code];
  const body = JSON.stringify(errorBody(failure, requestId));
  const headers = {
    ...COMMON_HEADERS,
    "X-Request-Id": requestId,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n"));
}

function brokenRequestError(code: string | undefined): AccountError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new AccountError("request_timeout", "The request did not arrive in time.");
    case "HPE_HEADER_OVERFLOW":
      return new AccountError(
        "headers_too_large",
        "The headers of the request are too large. Clear the cookies of this site.",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new AccountError("body_too_large", "The body is too large.");
    default:
      return new AccountError("malformed_request", "The request is not valid HTTP.");
  }
}

/**
 * Whether an answer to the connection's current request has begun; Node keeps it in a field that
 * its own handler reads too.
 */
function hasAnswered(socket: Duplex): boolean {
  const message: unknown = "_httpMessage" in socket ? socket._httpMessage : undefined;
  return typeof message === "object" && message !== null && "_headerSent" in message && message._headerSent === true;
}
