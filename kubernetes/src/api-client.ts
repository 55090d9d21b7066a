// Requests to the API server: list and watch over one connection that is kept, each under a
// watchdog, so that a server that says nothing is noticed. It knows nothing of what the objects
// mean, nor when to try again.
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestPlain,
} from "node:http";
import { Agent, request as requestTls, type RequestOptions } from "node:https";
import { pipeline } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createGunzip } from "node:zlib";

import {
  type ApiFailure,
  type ApiRequest,
  errorAnswerOf,
  failureOfAnswer,
  failureOfConnection,
  failureOfContent,
  failureOfCredentials,
} from "./api-failure.ts";
import { requestPath } from "./api-resource.ts";
import type { ClusterAccess, RequestAccess } from "./access/cluster-access.ts";
import { type ObjectPage, readPage, readWatchEvent, type WatchEvent } from "./kubernetes-object.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { Watchdog } from "./watchdog.ts";

/**
 * Longest list or page that is read, in bytes, unpacked: what is parsed in one go stops everything
 * else. A single object has at most some 3 MiB.
 */
const PAGE_MAX_BYTES = 16 * 1024 * 1024;

/** Longest event that is read, in bytes. */
const LINE_MAX_BYTES = 8 * 1024 * 1024;

/** Longest answer that is read of a request that failed, in bytes. */
const ERROR_MAX_BYTES = 64 * 1024;

/**
 * Time after which an idle connection is probed, so that what stands between keeps it, in
 * milliseconds.
 */
const KEEP_ALIVE_PROBE_MS = 30_000;

/** How long the server may say nothing, in milliseconds. */
export interface ApiClientOptions {
  /** Before its answer begins, and between the pieces of a list. */
  readonly answerTimeoutMs: number;
  /**
   * Between two lines of a watch. A bookmark comes about once a minute, but not before the first
   * event since the server has started.
   */
  readonly silenceTimeoutMs: number;
}

/** What a watch tells. */
export interface WatchListener {
  /** The server has accepted the watch. */
  opened(): void;
  /** Something has changed, or the version has moved on. What this throws ends the watch. */
  event(event: Exclude<WatchEvent, { readonly kind: "error" }>): void;
}

/** A client of one API server. Every request fails with ApiFailure and nothing else. */
export interface ApiClient {
  /** A limit of 0 asks for everything at once. */
  list(
    request: ApiRequest,
    page: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ObjectPage>;
  /** Tells the listener until the watch comes to an end; resolves with how. */
  watch(request: ApiRequest, from: WatchFrom, listener: WatchListener, signal: AbortSignal): Promise<WatchEnd>;
  /** Closes the connections that are kept. */
  close(): void;
}

/**
 * How a watch came to an end without failing: `ended` by the server, as it should; `silent`:
 * nothing was heard for so long that only a new one, over a new connection, can tell whether the
 * server is there.
 */
export type WatchEnd = "ended" | "silent";

/** Where a watch begins and how long the server should let it last. */
export interface WatchFrom {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
}

/** Makes a client. */
export function createApiClient(access: ClusterAccess, options: ApiClientOptions): ApiClient {
  return new HttpApiClient(access, options);
}

/** A request that is under way. */
interface Call {
  readonly request: ApiRequest;
  readonly watchdog: Watchdog;
}

class HttpApiClient implements ApiClient {
  readonly #access: ClusterAccess;
  readonly #options: ApiClientOptions;
  readonly #agent = new Agent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_PROBE_MS });
  readonly #plainAgent = new HttpAgent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_PROBE_MS });

  constructor(access: ClusterAccess, options: ApiClientOptions) {
    this.#access = access;
    this.#options = options;
  }

  async list(
    request: ApiRequest,
    { limit, continueToken }: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ObjectPage> {
    const path = requestPath(request.resource, { limit: limit === 0 ? "" : String(limit), continue: continueToken });
    return await this.#call(request, path, signal, async (response, call) => {
      const isPacked = response.headers["content-encoding"] === "gzip";
      const text = await readBody(isPacked ? unpack(response) : response, PAGE_MAX_BYTES, call.watchdog);
      if (text === undefined)
        throw failureOfContent(request, `the answer has more than ${PAGE_MAX_BYTES} bytes`, "too-large");
      const page = readPage(parseJson(text));
      if (page === undefined) throw failureOfContent(request, "the answer is not a list of objects");
      return page;
    });
  }

  async watch(request: ApiRequest, from: WatchFrom, listener: WatchListener, signal: AbortSignal): Promise<WatchEnd> {
    const path = requestPath(request.resource, {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: from.resourceVersion,
      timeoutSeconds: String(from.timeoutSeconds),
    });
    return await this.#call(request, path, signal, async (response, call) => {
      call.watchdog.guard(this.#options.silenceTimeoutMs);
      listener.opened();
      try {
        await readEvents(response, call, listener);
        return "ended";
      } catch (error) {
        if (call.watchdog.silence === undefined) throw error;
        this.#dropIdle();
        return "silent";
      }
    });
  }

  close(): void {
    this.#agent.destroy();
    this.#plainAgent.destroy();
  }

  /** Sends a request and hands the answer to `take`; every failure becomes an ApiFailure. */
  async #call<T>(
    request: ApiRequest,
    path: string,
    signal: AbortSignal,
    take: (response: IncomingMessage, call: Call) => Promise<T>,
  ): Promise<T> {
    const access = await this.#authenticate(request);
    const watchdog = new Watchdog(this.#options.answerTimeoutMs);
    try {
      // Fails at once when a certificate or a key cannot be used.
      const sent = this.#send(access, path, request, signal);
      watchdog.onSilence((error) => sent.destroy(error));
      const response = await answerTo(sent);
      watchdog.heard();
      const call = { request, watchdog };
      if (response.statusCode !== 200) throw await this.#failureOf(response, call);
      return await take(response, call);
    } catch (error) {
      const failure = failureOfConnection(request, access.server, watchdog.silence ?? error);
      // Whatever cut this connection may have cut the ones that wait, too; only a request would
      // tell, and late.
      if (failure.kind === "unreachable") this.#dropIdle();
      if (failure.kind === "unauthorized") this.#access.renew();
      throw failure;
    } finally {
      watchdog.stop();
    }
  }

  async #authenticate(request: ApiRequest): Promise<RequestAccess> {
    const timer = new AbortController();
    try {
      // A program that a kubeconfig names may wait for something that never comes.
      const late = delay(this.#options.answerTimeoutMs, undefined, { signal: timer.signal, ref: false }).then(() => {
        throw new Error(`they have not come for ${this.#options.answerTimeoutMs / 1000} s`);
      });
      return await Promise.race([this.#access.forRequest(), late]);
    } catch (cause) {
      throw failureOfCredentials(request, cause);
    } finally {
      timer.abort();
    }
  }

  #send({ server, options }: RequestAccess, path: string, { verb }: ApiRequest, signal: AbortSignal): ClientRequest {
    const url = new URL(server + path);
    // A watch is not packed: what is packed waits for more.
    const encoding = verb === "list" ? "gzip" : "identity";
    const headers = {
      ...(options.headers as OutgoingHttpHeaders | undefined),
      accept: "application/json",
      "accept-encoding": encoding,
      "user-agent": "weir-control-plane",
    };
    const common: RequestOptions = { ...options, headers, signal };
    const sent =
      url.protocol === "http:"
        ? requestPlain(url, { agent: this.#plainAgent, ...common })
        : requestTls(url, { agent: this.#agent, ...common });
    sent.end();
    return sent;
  }

  async #failureOf(response: IncomingMessage, { request, watchdog }: Call): Promise<ApiFailure> {
    const seconds = Number(response.headers["retry-after"] ?? 0);
    const text = await readBody(response, ERROR_MAX_BYTES, watchdog);
    const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
    return failureOfAnswer(request, errorAnswerOf(parseJson(text ?? ""), response.statusCode ?? 0, retryAfterMs));
  }

  #dropIdle(): void {
    for (const agent of [this.#agent, this.#plainAgent]) {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    }
  }
}

async function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on("response", resolve);
  // Stays for the life of the request: what is destroyed later tells once more.
  sent.on("error", reject);
  return await promise;
}

/** The whole text; undefined when it is too long. */
async function readBody(
  body: AsyncIterable<unknown>,
  maxBytes: number,
  watchdog: Watchdog,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    watchdog.heard();
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Whoever stops reading, because it is too much, ends the answer and its connection too: one that
 * nobody reads would stay open for good.
 */
function unpack(response: IncomingMessage): AsyncIterable<unknown> {
  // Its reader is told of every end.
  return pipeline(response, createGunzip(), () => undefined);
}

async function readEvents(
  response: IncomingMessage,
  { request, watchdog }: Call,
  listener: WatchListener,
): Promise<void> {
  const splitter = createLineSplitter(LINE_MAX_BYTES);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    watchdog.heard();
    const lines = splitter.push(chunk);
    if (lines === undefined) throw failureOfContent(request, `an event has more than ${LINE_MAX_BYTES} bytes`);
    for (const line of lines) {
      const event = readWatchEvent(parseJson(line));
      if (event === undefined) throw failureOfContent(request, `an event makes no sense: ${line.slice(0, 100)}`);
      if (event.kind === "error") throw failureOfAnswer(request, errorAnswerOf(event.status, 500));
      listener.event(event);
    }
  }
}

/** The value; undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller sees from the value that it is not what it should be.
  }
}
