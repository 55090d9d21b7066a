// Serves HTTP/1.1: decisions as JSON on /json, and the health of the process on /healthcheck.
import type { IncomingMessage, ServerResponse } from "node:http";

import { respondText } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";
import { HttpListener, type HttpTimeouts, pathOf } from "@weir/common/net/http-listener";
import { formatAddress } from "@weir/common/net/listen";
import type { Tracing } from "@weir/common/tracing/tracing";

import type { Decider } from "../../decide/decider.ts";
import type { Health } from "../../health/health.ts";
import { respondHealth } from "../plain-answers.ts";
import { decideTraced } from "../traced-call.ts";
import type { Transport } from "../transport.ts";
import { JsonCall, respondError } from "./json-call.ts";
import { BodyReader, isTooLong, parseRequestBody } from "./request-body.ts";

/** How long a connection may be idle between two requests, in milliseconds. */
const KEEP_ALIVE_MS = 75_000;

/** The gRPC names of what the listener refuses by itself. */
const REFUSAL_CODE = {
  400: "INVALID_ARGUMENT",
  408: "DEADLINE_EXCEEDED",
  413: "RESOURCE_EXHAUSTED",
  431: "RESOURCE_EXHAUSTED",
} as const;

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

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
  /** For tests. */
  readonly timeouts?: Partial<HttpTimeouts>;
}

/** The transport. */
export class JsonTransport implements Transport {
  readonly name = "HTTP listener";
  readonly #deps: JsonTransportDeps;
  readonly #listener: HttpListener;
  readonly #bodies = new BodyReader();

  constructor(deps: JsonTransportDeps, options: JsonTransportOptions) {
    this.#deps = deps;
    this.#listener = new HttpListener(
      deps,
      {
        handle: (request, response) => this.#handle(request, response),
        refuse: ({ status, message }) => ({
          type: "application/json",
          body: JSON.stringify({ code: REFUSAL_CODE[status], message }),
        }),
        wantsBody: (request) => !isTooLong(request),
      },
      { ...options, setting: "PORT", what: "HTTP", connectionsMax: CONNECTIONS_MAX, keepAliveMs: KEEP_ALIVE_MS },
    );
  }

  address(): string | undefined {
    const address = this.#listener.address();
    return address && formatAddress(address);
  }

  start(): Promise<void> {
    return this.#listener.start();
  }

  drain(): Promise<void> {
    return this.#listener.drain();
  }

  stop(): Promise<void> {
    return this.#listener.stop();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    switch (pathOf(request)) {
      case "/json":
        this.#decide(request, response).catch((error: unknown) => {
          this.#deps.log.error("Cannot answer a JSON request", { error });
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

  async #decide(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await this.#bodies.read(request);
    switch (body.kind) {
      case "aborted":
        return;
      case "refused":
        respondError(response, body.status, "RESOURCE_EXHAUSTED", body.message);
        return;
      case "read": {
        const parsed = parseRequestBody(body.bytes);
        if (parsed.ok) decideTraced(this.#deps, parsed.request, new JsonCall(response, this.#deps.log), "json");
        else respondError(response, 400, "INVALID_ARGUMENT", parsed.message);
      }
    }
  }
}
