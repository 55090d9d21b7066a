// An HTTP/1.1 listener, with or without TLS, with bounds on everything that a client can hold:
// connections, headers, time, and requests without an answer.
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Part } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log/log.ts";
import type { TlsFiles } from "../tls/tls-files.ts";
import type { BodyPace } from "./body-pace.ts";
import { BodyWatch } from "./body-watch.ts";
import { type LimitedListener, limitConnections } from "./connection-limit.ts";
import { destroyAfter, endWithRefusal, findHttpRefusal, type HttpRefusal, type RefusalAnswer } from "./http-refusal.ts";
import { createServer } from "./node-http.ts";
import { KEEP_ALIVE_PROBES, listen, type ListenAddress, type ListenOptions } from "./listen.ts";

/** Longest header block of a request, in bytes. */
const HEADERS_MAX_BYTES = 16 * 1024;

/**
 * Most requests of one connection without their answer, by default: Node takes all that a client sends
 * without waiting for answers. Clients that pipeline send a few dozen.
 */
export const UNANSWERED_MAX = 256;

/** Longest TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** How long clients may take, in milliseconds. */
export interface HttpTimeouts {
  /** For the header block. Default 10 seconds. */
  readonly headersMs: number;
  /** For the whole request, unless there is a pace of bodies. Default 30 seconds. */
  readonly requestMs: number;
  /** How often connections are checked for both. Default 5 seconds. */
  readonly checkIntervalMs: number;
  /** For closing the connection after a refusal. Default 5 seconds. */
  readonly closeMs: number;
}

const TIMEOUTS: HttpTimeouts = { headersMs: 10_000, requestMs: 30_000, checkIntervalMs: 5000, closeMs: 5000 };

/** The addresses to listen on, and the bounds. */
export interface HttpListenerOptions extends ListenOptions, Pick<LimitedListener, "isFair" | "onOpen" | "onRefused"> {
  /** Most connections at a time; further ones are closed immediately. */
  readonly connectionsMax: number;
  /** Further addresses at which it takes connections, on the same port. */
  readonly otherHosts?: readonly string[];
  readonly timeouts?: Partial<HttpTimeouts>;
  /** How long a connection may be idle between two requests, in milliseconds; default Node's. */
  readonly keepAliveMs?: number;
  /** How long running requests have after stop(), in milliseconds; default 0. */
  readonly stopGraceMs?: number;
  /** False passes requests without a Host header to `handle`; by default Node refuses them. */
  readonly requireHost?: boolean;
  /**
   * Certificate and key of HTTPS, which reload; absent = plaintext. With authorities, clients must show
   * a certificate of one of them.
   */
  readonly tls?: TlsFiles | undefined;
  /**
   * How fast bodies must come, in place of `requestMs`. The request of one that is late emits
   * "timeout", for a handler that answers it; the listener refuses it when no handler listens to that.
   * The connection of an answer that has begun ends.
   */
  readonly bodyPace?: BodyPace;
  /**
   * True passes the requests of a connection to `handle` one after the other, each when the one before
   * is answered, in a turn of the event loop of its own: a client that pipelines delays no other.
   */
  readonly oneAtATime?: boolean;
  /** Most requests of one connection without their answer; default {@link UNANSWERED_MAX}. */
  readonly unansweredMax?: number;
}

/** The service behind a listener. */
export interface HttpService {
  /** Answers one request. Must not throw. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The answer to a request that does not reach `handle`; with the request when its header was read. */
  refuse(refusal: HttpRefusal, request?: IncomingMessage): RefusalAnswer;
  /** Returns true to ask a client that expects "100 Continue" for the body; default: always. */
  wantsBody?(request: IncomingMessage): boolean;
}

/** The listener. */
export class HttpListener implements Part {
  readonly name: string;
  readonly #log: Log;
  readonly #service: HttpService;
  readonly #options: HttpListenerOptions;
  readonly #timeouts: HttpTimeouts;
  readonly #server: Server;
  /** The open connections, each with its unanswered requests, the oldest first. */
  readonly #connections = new Map<Duplex, Set<ServerResponse>>();
  readonly #bodies: BodyWatch | undefined;
  #unsubscribe: (() => void) | undefined;
  /** Take the connections of further addresses. */
  readonly #others: NetServer[] = [];
  #address: ListenAddress | undefined;
  #drained: Promise<void> | undefined;

  constructor(deps: { readonly log: Log }, service: HttpService, options: HttpListenerOptions) {
    this.name = `${options.what} listener`;
    this.#log = deps.log;
    this.#service = service;
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    const { headersMs, requestMs, checkIntervalMs } = this.#timeouts;
    const { keepAliveMs, requireHost = true, bodyPace } = options;
    if (bodyPace !== undefined)
      this.#bodies = new BodyWatch(
        { nowMs: () => performance.now(), late: (request) => this.#endLate(request) },
        bodyPace,
      );
    this.#server = this.#createServer({
      maxHeaderSize: HEADERS_MAX_BYTES,
      headersTimeout: headersMs,
      requestTimeout: bodyPace === undefined ? requestMs : headersMs + bodyPace.totalMs,
      connectionsCheckingInterval: checkIntervalMs,
      ...(keepAliveMs !== undefined && { keepAliveTimeout: keepAliveMs }),
      requireHostHeader: requireHost,
      ...KEEP_ALIVE_PROBES,
    });
    limitConnections(this.#server, { ...options, max: options.connectionsMax }, deps.log);
    this.#server.on(options.tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      this.#connections.set(socket, new Set());
      socket.once("close", () => this.#connections.delete(socket));
    });
    this.#server.on("request", (request, response) => this.#take(request, response));
    this.#server.on("checkContinue", (request, response) => {
      if (service.wantsBody?.(request) ?? true) response.writeContinue();
      this.#take(request, response);
    });
    // Node would refuse an unknown expectation without a body; RFC 9110 section 10.1.1 does not
    // require to refuse it.
    this.#server.on("checkExpectation", (request, response) => this.#take(request, response));
    this.#server.on("clientError", (error, socket) => this.#refuse(error, socket));
  }

  /** Opens the listener on all of its addresses; fails with LISTEN_FAILED, and is open on none then. */
  async start(): Promise<void> {
    const { otherHosts = [] } = this.#options;
    const address = await listen(this.#server, this.#options);
    try {
      for (const host of otherHosts) {
        const other = createNetServer({ allowHalfOpen: true, ...KEEP_ALIVE_PROBES });
        other.on("connection", (socket) => this.#server.emit("connection", socket));
        this.#others.push(other);
        await listen(other, { ...this.#options, host, port: address.port });
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#address = address;
  }

  /** The address of the open listener, with its real port; undefined before start. */
  address(): ListenAddress | undefined {
    return this.#address;
  }

  /** Takes no more connections, and resolves when the running requests are answered. */
  drain(): Promise<void> {
    this.#unsubscribe?.();
    this.#drained ??= new Promise((resolve) => {
      for (const other of this.#others) other.close();
      this.#server.close(() => resolve()); // Closes idle connections. Its only error: it was not open.
      for (const response of [...this.#connections.values()].flatMap((unanswered) => [...unanswered]))
        if (!response.headersSent) response.setHeader("Connection", "close");
    });
    return this.#drained;
  }

  /** Drains, and closes every connection that is left after `stopGraceMs`. */
  async stop(): Promise<void> {
    const drained = this.drain();
    const timer = setTimeout(() => this.#server.closeAllConnections(), this.#options.stopGraceMs ?? 0);
    await drained;
    clearTimeout(timer);
  }

  #createServer(options: ServerOptions): Server {
    const { tls } = this.#options;
    if (tls === undefined) return createServer(options);
    // Only the given authorities are trusted for clients, not the public ones: those certify anybody.
    const context = () => ({ ...tls.current(), minVersion: "TLSv1.2" }) as const;
    const server = createTlsServer({
      ...options,
      ...context(),
      requestCert: tls.current().ca !== undefined,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
    // Open connections keep the certificate with which they were opened.
    this.#unsubscribe = tls.onChange(() => server.setSecureContext(context()));
    return server; // A server of node:https has all that one of node:http has.
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const unanswered = this.#connections.get(socket);
    if (unanswered === undefined || unanswered.size >= (this.#options.unansweredMax ?? UNANSWERED_MAX)) {
      discard(socket); // A refusal would have to wait for all the answers before it.
      return;
    }
    unanswered.add(response);
    response.once("close", () => this.#leave(response, unanswered, socket));
    if (this.#drained !== undefined) response.setHeader("Connection", "close");
    if (this.#options.oneAtATime !== true || unanswered.size === 1) this.#handle(response);
  }

  #leave(response: ServerResponse, unanswered: Set<ServerResponse>, socket: Socket): void {
    unanswered.delete(response);
    const [next] = unanswered;
    if (next === undefined) {
      if (this.#drained !== undefined) socket.end();
    } else if (this.#options.oneAtATime === true)
      setImmediate(() => {
        if (!socket.destroyed) this.#handle(next);
      });
  }

  #handle(response: ServerResponse): void {
    this.#bodies?.add(response.req);
    this.#service.handle(response.req, response);
  }

  #endLate(request: IncomingMessage): void {
    const { socket } = request;
    const [oldest] = this.#connections.get(socket) ?? [];
    if (oldest?.headersSent === true)
      socket.destroy(); // The rest of the body was only awaited so that the client reads the answer.
    else if (!request.emit("timeout", socket)) this.#refuse(new BodyLateError(), socket);
    else destroyAfter(socket, this.#timeouts.closeMs); // The client has so long to read the answer.
  }

  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    // Without a connection the TLS handshake has failed: nothing can be answered.
    const isConnected = this.#connections.has(socket);
    if (!isConnected) this.#log.debug("A TLS handshake failed", { to: this.#options.what, error });
    const refusal = isConnected ? findHttpRefusal(error) : undefined;
    const [oldest] = this.#connections.get(socket) ?? [];
    // The client would take this answer for that of an earlier request, or for a part of it.
    const isAnswering = oldest !== undefined && (oldest.headersSent || oldest.req.complete);
    if (refusal === undefined || isAnswering || !socket.writable) socket.destroy();
    else endWithRefusal(socket, refusal, this.#service.refuse(refusal, oldest?.req), this.#timeouts.closeMs);
  }
}

/** The error of Node for a request that does not come in time. */
class BodyLateError extends Error {
  readonly code = "ERR_HTTP_REQUEST_TIMEOUT";
}

/**
 * Closes a connection without a look at the requests that it has sent already: up to a thousand in one
 * read, for which Node would make objects, 25 µs each. It has no public way to stop there. 2 says
 * that no HTTP follows, as after an upgrade; where that has no effect, it only costs the time.
 */
function discard(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming?: () => number } | null };
  if (parser !== undefined && parser !== null) parser.onIncoming = () => 2;
  socket.destroy();
}

/** The path of a request, without the query. */
export function pathOf({ url = "/" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
