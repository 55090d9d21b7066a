// HTTP/1.1: the decision as JSON on /json, and the health of the process on /healthcheck. What a
// body means is request-body.ts, what is answered json-call.ts.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { respondText } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";
import { limitConnections } from "@weir/common/net/connection-limit";
import { endWithRefusal, findHttpRefusal, type HttpRefusal } from "@weir/common/net/http-refusal";
import { KEEP_ALIVE_PROBES } from "@weir/common/net/keep-alive";
import { formatAddress, listen } from "@weir/common/net/listen";
import { PipeliningLimit } from "@weir/common/net/pipelining-limit";
import type { Tracing } from "@weir/common/tracing/tracing";

import type { Decider } from "../../decide/decider.ts";
import type { Health } from "../../health/health.ts";
import { respondHealth } from "../plain-answers.ts";
import { decideTraced } from "../traced-call.ts";
import type { Transport } from "../transport.ts";
import { JsonCall, respondError } from "./json-call.ts";
import { BodyReader, isTooLong, parseRequestBody } from "./request-body.ts";

/**
 * How long a client may take for its headers, for its whole request, and between two requests, and
 * how often that is looked at, in milliseconds.
 */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5000,
} as const;

/** The gRPC names of what Node refuses by itself. */
const REFUSAL_CODE = {
  400: "INVALID_ARGUMENT",
  408: "DEADLINE_EXCEEDED",
  413: "RESOURCE_EXHAUSTED",
  431: "RESOURCE_EXHAUSTED",
} as const;

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

/** What the transport needs. */
export interface JsonTransportDeps {
  readonly decider: Decider;
  readonly tracing: Tracing;
  readonly health: Health;
  readonly log: Log;
}

/** HOST and PORT. */
export interface JsonTransportOptions {
  readonly host: string;
  readonly port: number;
  /** For tests: instead of TIMEOUTS. */
  readonly timeouts?: {
    readonly headersTimeout: number;
    readonly requestTimeout: number;
    readonly connectionsCheckingInterval: number;
  };
}

/** Makes the transport. */
export function createJsonTransport(deps: JsonTransportDeps, options: JsonTransportOptions): Transport {
  return new JsonTransport(deps, options);
}

class JsonTransport implements Transport {
  readonly name = "HTTP listener";
  readonly #deps: JsonTransportDeps;
  readonly #options: JsonTransportOptions;
  readonly #server: Server;
  readonly #bodies = new BodyReader();
  readonly #pipelining = new PipeliningLimit();
  /** Answers that are not yet sent to their end. */
  readonly #responses = new Set<ServerResponse>();
  #address: string | undefined;
  #drained: Promise<void> | undefined;

  constructor(deps: JsonTransportDeps, options: JsonTransportOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#server = createServer({ ...TIMEOUTS, ...options.timeouts, ...KEEP_ALIVE_PROBES }, (request, response) =>
      this.#handle(request, response),
    );
    limitConnections(this.#server, { what: "HTTP", max: CONNECTIONS_MAX }, deps.log);
    this.#server.on("checkContinue", (request, response) => {
      if (!isTooLong(request)) response.writeContinue(); // Of a body that is refused, nothing need be sent.
      this.#handle(request, response);
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) =>
      this.#refuse(socket, findHttpRefusal(error)),
    );
  }

  address(): string | undefined {
    return this.#address;
  }

  async start(): Promise<void> {
    this.#address = formatAddress(await listen(this.#server, { ...this.#options, setting: "PORT", what: "HTTP" }));
  }

  drain(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
      this.#server.closeIdleConnections();
      // A connection that is kept after its answer would keep the server open until its client
      // tires of it.
      for (const response of this.#responses) if (!response.headersSent) response.setHeader("Connection", "close");
    });
    return this.#drained;
  }

  async stop(): Promise<void> {
    const drained = this.drain();
    this.#server.closeAllConnections();
    await drained;
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#pipelining.admit(request, response)) return;
    this.#responses.add(response);
    response.once("close", () => this.#responses.delete(response));
    if (this.#drained !== undefined) response.setHeader("Connection", "close");
    switch (pathOf(request)) {
      case "/json":
        this.#decide(request, response).catch((error: unknown) => {
          this.#deps.log.error("a JSON request could not be answered", { error });
          if (response.headersSent) response.destroy();
          else respondError(response, 500, "INTERNAL", "internal error");
        });
        return;
      case "/healthcheck":
        respondHealth(response, this.#deps.health);
        return;
      default:
        respondText(response, 404, "404 page not found\n");
    }
  }

  #refuse(socket: Duplex, refusal: HttpRefusal | undefined): void {
    // An answer that is on its way, or still to come, must not be mixed up with this one.
    const isAnswering = [...this.#responses].some((response) => response.socket === socket);
    if (refusal === undefined || isAnswering || !socket.writable) {
      socket.destroy();
      return;
    }
    const body = JSON.stringify({ code: REFUSAL_CODE[refusal.status], message: refusal.message });
    endWithRefusal(socket, refusal, { type: "application/json", body });
  }

  async #decide(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await this.#bodies.read(request);
    switch (body.kind) {
      case "aborted":
        return;
      case "too large":
        respondError(response, 413, "RESOURCE_EXHAUSTED", body.message);
        return;
      case "too many":
        respondError(response, 503, "RESOURCE_EXHAUSTED", body.message);
        return;
      case "read": {
        const parsed = parseRequestBody(body.bytes);
        if (parsed.ok) decideTraced(this.#deps, parsed.request, new JsonCall(response, this.#deps.log), "json");
        else respondError(response, 400, "INVALID_ARGUMENT", parsed.message);
      }
    }
  }
}

function pathOf(request: IncomingMessage): string {
  const target = request.url ?? "/";
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}
