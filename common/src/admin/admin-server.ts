// A small HTTP listener for operators: probes, metrics, dumps. Not for the service's own interface,
// and without authentication: who may reach it is a matter of the network.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import type { Part } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log/log.ts";
import { endWithRefusal, findHttpRefusal } from "../net/http-refusal.ts";
import { KEEP_ALIVE_PROBES } from "../net/keep-alive.ts";
import { limitConnections } from "../net/connection-limit.ts";
import { listen, type ListenAddress } from "../net/listen.ts";
import { PipeliningLimit } from "../net/pipelining-limit.ts";

/**
 * Bounds of what clients may hold: connections unless told otherwise, and milliseconds to send a
 * whole request.
 */
const CONNECTIONS_MAX = 256;
const REQUEST_TIMEOUT_MS = 10_000;

/** How often those times are looked at, in milliseconds. */
const CHECK_MS = 5000;

/** How long running requests may go on after stop, in milliseconds. */
const DRAIN_MS = 1000;

const READ_METHODS: readonly string[] = ["GET", "HEAD"];

/** One path of the listener. */
export interface AdminRoute {
  /**
   * The whole path; one that ends in "/" also answers every path below it that has no route of its
   * own, except "/" itself.
   */
  readonly path: string;
  /** One line for the index. */
  readonly help: string;
  /** Methods it answers; the others get 405. Default: GET and HEAD. */
  readonly methods?: readonly string[];
  /** Answers one request. What it throws is logged and answered with 500. */
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

/** Where the listener listens and how it treats paths that nobody registered. */
export interface AdminServerOptions {
  readonly host: string;
  readonly port: number;
  /** The setting that moves it, and what it is called in messages; see ListenOptions. */
  readonly setting: string;
  readonly what: string;
  /**
   * True answers "/" and unknown paths with the sorted index of all paths and status 200; default
   * is 404 with that index.
   */
  readonly listUnknown?: boolean;
  /** Most connections at a time; default 256. */
  readonly connectionsMax?: number;
}

/** The listener. Routes may be added before and after start. */
export interface AdminServer extends Part {
  /** Opens the listener; fails with LISTEN_FAILED. */
  start(): Promise<void>;
  /** Closes it; running requests have a second to end. */
  stop(): Promise<void>;
  /** Adds a route; a path can be taken only once. */
  route(route: AdminRoute): void;
  /** The address it has, once started. */
  address(): ListenAddress | undefined;
}

/** Makes a listener; it opens at start. */
export function createAdminServer(deps: { readonly log: Log }, options: AdminServerOptions): AdminServer {
  return new HttpAdminServer(deps.log, options);
}

/** Answers with plain text. */
export function respondText(response: ServerResponse, status: number, text: string): void {
  respond(response, status, "text/plain; charset=utf-8", text);
}

/** Answers with a value as JSON, indented for people. */
export function respondJson(response: ServerResponse, status: number, value: unknown): void {
  respond(response, status, "application/json; charset=utf-8", `${JSON.stringify(value, undefined, 2)}\n`);
}

class HttpAdminServer implements AdminServer {
  readonly name: string;
  readonly #log: Log;
  readonly #options: AdminServerOptions;
  readonly #routes = new Map<string, AdminRoute>();
  readonly #server: Server;
  readonly #pipelining = new PipeliningLimit();
  #address: ListenAddress | undefined;

  constructor(log: Log, options: AdminServerOptions) {
    this.name = `${options.what} listener`;
    this.#log = log;
    this.#options = options;
    const timeouts = {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
    };
    this.#server = createServer({ ...timeouts, ...KEEP_ALIVE_PROBES }, (request, response) => {
      if (this.#pipelining.admit(request, response)) void this.#answer(request, response);
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      const refusal = findHttpRefusal(error);
      if (refusal === undefined || !socket.writable) socket.destroy();
      else endWithRefusal(socket, refusal, { type: "text/plain; charset=utf-8", body: `${refusal.message}\n` });
    });
    limitConnections(this.#server, { what: options.what, max: options.connectionsMax ?? CONNECTIONS_MAX }, log);
  }

  route(route: AdminRoute): void {
    if (!route.path.startsWith("/"))
      throw new TypeError(`Cannot add the route "${route.path}": a path begins with "/"`);
    if (this.#routes.has(route.path)) throw new TypeError(`Cannot add the route "${route.path}": it is taken`);
    this.#routes.set(route.path, route);
  }

  address(): ListenAddress | undefined {
    return this.#address;
  }

  async start(): Promise<void> {
    this.#address = await listen(this.#server, this.#options);
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS);
    await closed;
    clearTimeout(timer);
  }

  /** Never rejects: a failed handler becomes an answer and a log line. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    const route = this.#find(path);
    try {
      if (route === undefined) this.#answerUnknown(path, response);
      else if (!(route.methods ?? READ_METHODS).includes(request.method ?? ""))
        refuseMethod(route.methods ?? READ_METHODS, response);
      else await route.handle(request, response);
    } catch (error) {
      this.#log.error("cannot answer an admin request", { path, error });
      if (response.headersSent) response.destroy();
      else respondText(response, 500, "internal error\n");
    }
  }

  #find(path: string): AdminRoute | undefined {
    const exact = this.#routes.get(path);
    if (exact !== undefined) return exact;
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const above = this.#routes.get(path.slice(0, at + 1));
      if (above !== undefined) return above;
    }
    return undefined;
  }

  #answerUnknown(path: string, response: ServerResponse): void {
    const index = [...this.#routes.values()]
      .map((route) => `${route.path}: ${route.help}\n`)
      .sort()
      .join("");
    if (this.#options.listUnknown === true) respondText(response, 200, index);
    else respondText(response, 404, `no such path: ${path}\n${index}`);
  }
}

function pathOf(request: IncomingMessage): string {
  const target = request.url ?? "/";
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}

function refuseMethod(allowed: readonly string[], response: ServerResponse): void {
  response.setHeader("Allow", allowed.join(", "));
  respondText(response, 405, `method not allowed, only ${allowed.join(", ")}\n`);
}

function respond(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(body);
}
