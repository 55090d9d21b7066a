// An HTTP listener for operators: probes, metrics, dumps. It has no authentication; the network
// decides who reaches it.
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Part } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log/log.ts";
import { HttpListener, type HttpListenerOptions, pathOf } from "../net/http-listener.ts";
import type { ListenAddress, ListenOptions } from "../net/listen.ts";

/** Most connections at a time, unless the options say otherwise. */
const CONNECTIONS_MAX = 256;

/** How long a client may take to send a whole request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/** How long running requests have after stop(), in milliseconds. */
const STOP_GRACE_MS = 1000;

const TEXT = "text/plain; charset=utf-8";

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
  /** Answers one request. An error is logged and answered with 500. */
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

/** The address of the listener, its answer to paths without a route, and its bound of connections. */
export interface AdminServerOptions extends ListenOptions, Pick<HttpListenerOptions, "otherHosts"> {
  /**
   * True answers "/" and unknown paths with the sorted index of all paths and status 200; default
   * is 404 with that index.
   */
  readonly listUnknown?: boolean;
  /** Most connections at a time; default 256. */
  readonly connectionsMax?: number;
}

/** The listener. Routes may be added before and after start. */
export class AdminServer implements Part {
  readonly name: string;
  readonly #log: Log;
  readonly #listUnknown: boolean;
  readonly #routes = new Map<string, AdminRoute>();
  readonly #listener: HttpListener;

  constructor(deps: { readonly log: Log }, options: AdminServerOptions) {
    this.#log = deps.log;
    this.#listUnknown = options.listUnknown ?? false;
    this.#listener = new HttpListener(
      deps,
      {
        handle: (request, response) => void this.#answer(request, response),
        refuse: ({ message }) => ({ type: TEXT, body: `${message}\n` }),
      },
      {
        ...options,
        connectionsMax: options.connectionsMax ?? CONNECTIONS_MAX,
        timeouts: { headersMs: REQUEST_TIMEOUT_MS, requestMs: REQUEST_TIMEOUT_MS },
        stopGraceMs: STOP_GRACE_MS,
      },
    );
    this.name = this.#listener.name;
  }

  /** Adds a route; a path can be taken only once. */
  route(route: AdminRoute): void {
    if (!route.path.startsWith("/"))
      throw new TypeError(`Cannot add the route "${route.path}": a path begins with "/"`);
    if (this.#routes.has(route.path)) throw new TypeError(`Cannot add the route "${route.path}": it is taken`);
    this.#routes.set(route.path, route);
  }

  /** Opens the listener; fails with LISTEN_FAILED. */
  start(): Promise<void> {
    return this.#listener.start();
  }

  /** Closes it; running requests have a second to end. */
  stop(): Promise<void> {
    return this.#listener.stop();
  }

  /** The address of the open listener; undefined before start. */
  address(): ListenAddress | undefined {
    return this.#listener.address();
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
      this.#log.error("Cannot answer an admin request", { path, error });
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
    if (this.#listUnknown) respondText(response, 200, index);
    else respondText(response, 404, `no such path: ${path}\n${index}`);
  }
}

/** Answers with plain text. */
export function respondText(response: ServerResponse, status: number, text: string): void {
  respond(response, status, TEXT, text);
}

/** Answers with a value as JSON, indented for people. */
export function respondJson(response: ServerResponse, status: number, value: unknown): void {
  respond(response, status, "application/json; charset=utf-8", `${JSON.stringify(value, undefined, 2)}\n`);
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
