// Requests to the API server over connections that are kept, with time limits that detect a silent
// server.
import { pipeline } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGunzip } from "node:zlib";

import { describeError } from "@weir/common/errors/service-error";
import { type Dispatcher, errors } from "undici";

import type { ClusterAccess, RequestAccess } from "../access/cluster-access.ts";
import { failureOfResponse, linesOf, readEvent, readJson } from "./answer-body.ts";
import { ApiFailure, type ApiRequest, failureOfConnection } from "./api-failure.ts";
import { requestPath } from "./api-resource.ts";
import { createDispatcher } from "./create-dispatcher.ts";
import { type ObjectPage, readPage, type WatchEvent } from "./kubernetes-object.ts";
import { type SlowRequest, SlowTimer } from "./slow-timer.ts";

/** Time limits of a client. */
export interface ApiTimeouts {
  /** Longest silence before an answer begins and between the chunks of a list, in milliseconds. */
  readonly answerTimeoutMs: number;
  /**
   * Longest silence of a watch, in milliseconds. A bookmark comes about once a minute, but not before
   * the first event since the server has started.
   */
  readonly silenceTimeoutMs: number;
  /** Time after which a request without an answer is reported as slow, in milliseconds. */
  readonly slowAfterMs: number;
}

/** How a client presents itself, and reports. */
export interface ApiClientOptions {
  readonly userAgent: string;
  /** Called once for each request that is slow. */
  readonly slow?: (request: ApiRequest, slow: SlowRequest) => void;
  /** Called once for each request that was sent, when its answer begins or it has failed before. */
  readonly answered?: (answer: AnsweredRequest) => void;
}

/** A request that was sent, as metrics count it. */
export interface AnsweredRequest {
  readonly method: ApiCall["method"];
  /** Name and port of the server. */
  readonly host: string;
  /** HTTP status; undefined when no answer has begun. */
  readonly status: number | undefined;
}

/** Receives the events of a watch. An error that it throws ends the watch. */
export interface WatchListener {
  /** The server has accepted the watch. */
  opened(): void;
  /** An object has changed, or the version has moved on. */
  event(event: Exclude<WatchEvent, { readonly kind: "error" }>): void;
}

/**
 * How a watch ended without failing: `ended` by the server as planned; `silent`: nothing was received
 * for so long that only a new watch over a new connection shows whether the server is there.
 */
export type WatchEnd = "ended" | "silent";

/** The resource version after which a watch begins, and how long the server should let it last. */
export interface WatchFrom {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
}

/** The method, the path and the body of a request for single objects. */
export interface ApiCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
  /** Media type of the body; `application/json` when it is absent. */
  readonly contentType?: string;
}

/** A request, and the longest time between two chunks of its answer, in milliseconds. */
interface CallOptions extends Omit<ApiCall, "method"> {
  readonly method?: ApiCall["method"];
  readonly signal: AbortSignal;
  readonly bodyTimeout: number;
}

/** A client of one API server. Every request fails with ApiFailure and nothing else. */
export class ApiClient {
  readonly #access: ClusterAccess;
  readonly #timeouts: ApiTimeouts;
  readonly #options: ApiClientOptions;
  #connections: { readonly key: string; readonly dispatcher: Dispatcher } | undefined;

  constructor(access: ClusterAccess, timeouts: ApiTimeouts, options: ApiClientOptions) {
    this.#access = access;
    this.#timeouts = timeouts;
    this.#options = options;
  }

  /** Lists one page. A limit of 0 asks for everything in one call. */
  async list(
    request: ApiRequest,
    { limit, continueToken }: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ObjectPage> {
    const path = requestPath(request.resource, { limit: limit === 0 ? "" : String(limit), continue: continueToken });
    const { answerTimeoutMs } = this.#timeouts;
    return await this.#call(request, { path, signal, bodyTimeout: answerTimeoutMs }, async ({ headers, body }) => {
      // A reader that stops early destroys the body with it, and so the connection.
      const bytes = headers["content-encoding"] === "gzip" ? pipeline(body, createGunzip(), () => undefined) : body;
      const page = readPage(await readJson(bytes, request));
      if (page === undefined) throw new ApiFailure("broken", request, "the answer is not a list of objects");
      return page;
    });
  }

  /** Watches until the watch ends, and resolves with how. */
  async watch(request: ApiRequest, from: WatchFrom, listener: WatchListener, signal: AbortSignal): Promise<WatchEnd> {
    const path = requestPath(request.resource, {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: from.resourceVersion,
      timeoutSeconds: String(from.timeoutSeconds),
    });
    const { silenceTimeoutMs } = this.#timeouts;
    return await this.#call(request, { path, signal, bodyTimeout: silenceTimeoutMs }, async ({ body }) => {
      listener.opened();
      try {
        for await (const line of linesOf(body, request)) listener.event(readEvent(line, request));
        return "ended";
      } catch (error) {
        if (!(error instanceof errors.BodyTimeoutError)) throw error;
        this.#dropConnections();
        return "silent";
      }
    });
  }

  /** Sends one request and resolves with the JSON of its answer. ObjectClient knows what to send. */
  async send(request: ApiRequest, call: ApiCall, signal: AbortSignal): Promise<unknown> {
    const options = { ...call, signal, bodyTimeout: this.#timeouts.answerTimeoutMs };
    return await this.#call(request, options, async ({ body }) => readJson(body, request));
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const connections = this.#connections;
    this.#connections = undefined;
    await connections?.dispatcher.destroy();
  }

  /** Sends a request and passes the answer to `take`; every failure becomes an ApiFailure. */
  async #call<T>(
    request: ApiRequest,
    options: CallOptions,
    take: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> {
    const slowTimer = new SlowTimer(request, this.#timeouts.slowAfterMs, this.#options.slow);
    try {
      return await this.#send(request, options, take, slowTimer);
    } finally {
      slowTimer.stop();
    }
  }

  async #send<T>(
    request: ApiRequest,
    options: CallOptions,
    take: (response: Dispatcher.ResponseData) => Promise<T>,
    slowTimer: SlowTimer,
  ): Promise<T> {
    const access = await this.#authenticate(request);
    slowTimer.server = access.server;
    try {
      const response = await this.#dispatch(request, options, access);
      if (response.statusCode >= 300) throw await failureOfResponse(request, response, this.#timeouts.answerTimeoutMs);
      if (request.verb === "watch") slowTimer.stop();
      const taken = await take(response);
      // undici does not use a connection again in the turn of the event loop in which an answer ends.
      await nextTurn();
      return taken;
    } catch (error) {
      const failure = failureOfConnection(request, access.server, this.#describeSilence(error, options.bodyTimeout));
      // The fault that has cut this connection may have cut idle ones too.
      if (failure.kind === "unreachable") this.#dropConnections();
      if (failure.kind === "unauthorized") this.#access.renew();
      throw failure;
    }
  }

  async #dispatch(request: ApiRequest, options: CallOptions, access: RequestAccess): Promise<Dispatcher.ResponseData> {
    const { origin, host, pathname, search } = new URL(access.server + options.path);
    const { method = "GET", body, contentType = "application/json", signal, bodyTimeout } = options;
    let status: number | undefined;
    try {
      const response = await this.#dispatcherFor(access).request({
        signal,
        bodyTimeout,
        origin,
        path: pathname + search,
        method,
        body: body ?? null,
        headersTimeout: this.#timeouts.answerTimeoutMs,
        headers: {
          ...access.headers,
          accept: "application/json",
          // Compression of a watch would delay its events.
          "accept-encoding": request.verb === "list" ? "gzip" : "identity",
          "user-agent": this.#options.userAgent,
          ...(body !== undefined && { "content-type": contentType }),
        },
      });
      status = response.statusCode;
      return response;
    } finally {
      this.#options.answered?.({ method, host, status });
    }
  }

  async #authenticate(request: ApiRequest): Promise<RequestAccess> {
    const { answerTimeoutMs } = this.#timeouts;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new Error(`they have not come for ${answerTimeoutMs / 1000} s`)),
      answerTimeoutMs,
    ).unref();
    try {
      // A program of a kubeconfig may wait for a person.
      return await Promise.race([this.#access.forRequest(), late]);
    } catch (cause) {
      throw new ApiFailure("unreachable", request, `there are no credentials: ${describeError(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The connections with this access; new ones when certificates have changed. */
  #dispatcherFor({ tls, proxyUrl }: RequestAccess): Dispatcher {
    const key = JSON.stringify([tls, proxyUrl]);
    if (this.#connections?.key !== key) {
      this.#dropConnections();
      this.#connections = { key, dispatcher: createDispatcher(tls, proxyUrl, this.#timeouts.answerTimeoutMs) };
    }
    return this.#connections.dispatcher;
  }

  /** Lets new requests use new connections; requests in flight keep theirs. */
  #dropConnections(): void {
    void this.#connections?.dispatcher.close();
    this.#connections = undefined;
  }

  /** Replaces time-outs of undici, whose messages do not contain the time. */
  #describeSilence(error: unknown, bodyTimeoutMs: number): unknown {
    const isConnecting = error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError;
    if (!isConnecting && !(error instanceof errors.BodyTimeoutError)) return error;
    const timeoutMs = isConnecting ? this.#timeouts.answerTimeoutMs : bodyTimeoutMs;
    return new Error(`nothing was received for ${timeoutMs / 1000} s`);
  }
}
