// The listener of the admission webhook: HTTPS with certificates that reload. It waits for its files,
// because the operator makes them itself, and has bounds on what clients can hold.
import type { IncomingMessage, ServerResponse } from "node:http";

import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { HttpListener, pathOf } from "@weir/common/net/http-listener";
import type { ListenAddress } from "@weir/common/net/listen";
import { TlsFiles } from "@weir/common/tls/tls-files";

import { parseReview, reviewAnswer } from "./admission-review.ts";
import { review, type ReviewContext } from "./review.ts";
import type { WebhookMetrics } from "./webhook-metrics.ts";

/** The path that the configuration of the webhook names. */
export const WEBHOOK_PATH = "/validate";

/**
 * Largest request, in bytes: the API server takes objects of 3 MiB, and sends the new and the old
 * one.
 */
const BODY_MAX_BYTES = 8 * 1024 * 1024;

/** Most bytes of requests that have not come completely. */
const PENDING_MAX_BYTES = 64 * 1024 * 1024;

/** Most connections at a time. An API server uses a few. */
const CONNECTIONS_MAX = 256;

/** How long a request may take to come, in milliseconds: the API server waits no longer. */
const REQUEST_TIMEOUT_MS = 5000;

/** How long running requests have after stop(), in milliseconds. */
const STOP_GRACE_MS = 2000;

/** Time between two looks for the certificate files, in milliseconds. */
const FILES_INTERVAL_MS = 2000;

const JSON_TYPE = "application/json; charset=utf-8";

/** The listen address of the webhook, and its files. */
export interface WebhookOptions {
  readonly host: string;
  readonly port: number;
  /** Certificate and key, PEM. */
  readonly tls: { readonly certPath: string; readonly keyPath: string };
  /** Overrides {@link FILES_INTERVAL_MS}. */
  readonly filesIntervalMs?: number;
}

/** The admission webhook. It serves on every replica, not only on the leader. */
export class WebhookServer implements Part {
  readonly name = "webhook listener";
  readonly #log: Log;
  readonly #context: ReviewContext;
  readonly #metrics: WebhookMetrics;
  readonly #options: WebhookOptions;
  readonly #loop: RetryLoop;
  #files: TlsFiles | undefined;
  #listener: HttpListener | undefined;
  #pendingBytes = 0;
  #isStopped = false;
  /** The last reason why it does not serve, so that it is logged once. */
  #reason: unknown;

  constructor(
    deps: { readonly log: Log; readonly context: ReviewContext; readonly metrics: WebhookMetrics },
    options: WebhookOptions,
  ) {
    this.#log = deps.log;
    this.#context = deps.context;
    this.#metrics = deps.metrics;
    this.#options = options;
    const waitMs = options.filesIntervalMs ?? FILES_INTERVAL_MS;
    this.#loop = new RetryLoop(() => void this.#open(), {
      initialMs: waitMs,
      maxMs: waitMs,
      factor: 0,
      jitter: false,
      random: Math.random,
    });
  }

  /** Begins to serve as soon as there is a certificate, which may be later. */
  async start(): Promise<void> {
    await this.#open();
  }

  /** Closes the listener; running requests have a while to end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#loop.stop();
    await this.#listener?.stop();
    this.#files?.stop();
  }

  /** The address of the open listener; undefined while it waits for its certificate. */
  address(): ListenAddress | undefined {
    return this.#listener?.address();
  }

  async #open(): Promise<void> {
    let files: TlsFiles | undefined;
    try {
      files = new TlsFiles(this.#options.tls, { log: this.#log });
      const listener = this.#createListener(files);
      await listener.start();
      if (this.#isStopped) {
        await listener.stop();
        return;
      }
      files.start();
      [this.#files, this.#listener] = [files, listener];
      this.#log.info("Serving the admission webhook", { ...listener.address() });
    } catch (error) {
      files?.stop();
      const reason = String(error);
      if (reason !== this.#reason) this.#log.warn("The admission webhook is not served yet, retrying", { error });
      this.#reason = reason;
      this.#loop.retry();
    }
  }

  #createListener(tls: TlsFiles): HttpListener {
    return new HttpListener(
      { log: this.#log },
      {
        handle: (request, response) => this.#take(request, response),
        refuse: ({ message }) => ({ type: JSON_TYPE, body: `${JSON.stringify({ message })}\n` }),
        wantsBody: (request) => refusalOf(request) === undefined,
      },
      {
        ...this.#options,
        setting: "WEBHOOK_PORT",
        what: "webhook",
        connectionsMax: CONNECTIONS_MAX,
        timeouts: { headersMs: REQUEST_TIMEOUT_MS, requestMs: REQUEST_TIMEOUT_MS, checkIntervalMs: 1000 },
        stopGraceMs: STOP_GRACE_MS,
        tls,
      },
    );
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const refusal = refusalOf(request);
    if (pathOf(request) === WEBHOOK_PATH) {
      const ended = this.#metrics.began();
      response.once("close", () => ended(response.headersSent ? response.statusCode : undefined));
    }
    if (refusal !== undefined) {
      refuse(response, ...refusal);
      return;
    }
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    const end = (): void => {
      this.#pendingBytes -= sizeBytes;
      sizeBytes = 0;
    };
    request.on("data", (part: Buffer) => {
      if (response.headersSent) return;
      parts.push(part);
      sizeBytes += part.length;
      this.#pendingBytes += part.length;
      const isTooLong = sizeBytes > BODY_MAX_BYTES;
      if (!isTooLong && this.#pendingBytes <= PENDING_MAX_BYTES) return;
      parts.length = 0;
      const [status, message] = isTooLong ? TOO_LONG : TOO_MANY;
      refuse(response, status, message);
    });
    request.once("close", end);
    request.once("end", () => {
      if (!response.headersSent) this.#answer(Buffer.concat(parts).toString(), response);
      end();
    });
  }

  #answer(body: string, response: ServerResponse): void {
    const parsed = parseReview(body);
    if ("reason" in parsed) {
      refuse(response, 400, parsed.reason);
      return;
    }
    try {
      respond(response, 200, reviewAnswer(parsed.request, review(parsed.request, this.#context)));
    } catch (error) {
      this.#log.error("Cannot review a change", { kind: parsed.request.kind, error });
      refuse(response, 500, "internal error");
    }
  }
}

const TOO_LONG = [413, `the request is longer than ${BODY_MAX_BYTES} bytes`] as const;

const TOO_MANY = [503, "too many requests at a time, try again"] as const;

/** Why a request is refused before its body is read. */
function refusalOf(request: IncomingMessage): readonly [number, string] | undefined {
  const { method, headers } = request;
  if (pathOf(request) !== WEBHOOK_PATH) return [404, `there is only ${WEBHOOK_PATH}`];
  if (method !== "POST") return [405, "the method must be POST"];
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") return [415, "the body must be application/json"];
  return Number(headers["content-length"] ?? 0) > BODY_MAX_BYTES ? TOO_LONG : undefined;
}

/** Ends the connection too, so that the rest of the body is not read. */
function refuse(response: ServerResponse, status: number, message: string): void {
  response.setHeader("Connection", "close");
  respond(response, status, { message });
}

function respond(response: ServerResponse, status: number, value: object): void {
  const body = `${JSON.stringify(value)}\n`;
  response.writeHead(status, { "Content-Type": JSON_TYPE, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}
