// Connects to a port of a pod through the API server and its kubelet, over a WebSocket that carries
// the two channels of one port: 0 the data, 1 the kubelet's error.
import { once } from "node:events";
import { Duplex } from "node:stream";

import { type Dispatcher, WebSocket } from "undici";

import type { ClusterAccess } from "../access/cluster-access.ts";
import { ApiFailure, type ApiRequest, failureOfAnswer } from "./api-failure.ts";
import { objectPath, resourceOf } from "./api-resource.ts";
import { createDispatcher } from "./create-dispatcher.ts";

/**
 * The protocol that a kubelet speaks itself; the API server passes it on as it is. That of kubectl,
 * SPDY in a WebSocket, is for connections that share one, of which this has no need.
 */
const PROTOCOL = "v4.channel.k8s.io";

/** The code of a WebSocket that ended without a close frame: RFC 6455, section 7.4.1. */
const BROKEN = 1006;

/** How long the second connection is listened to after it is open, in milliseconds. */
const REASON_MS = 1000;

const DATA_CHANNEL = 0;
const ERROR_CHANNEL = 1;

/** The first message of each channel repeats the port, in two bytes. */
const PORT_BYTES = 2;

/** Longest part of an error answer that is read, in characters. */
const ERROR_MAX_LENGTH = 64 * 1024;

const PODS = { group: "", version: "v1", plural: "pods" } as const;

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** How a connection is opened: the longest wait, in milliseconds, and what ends the attempt. */
export interface ForwardOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a connection. It fails with ApiFailure: before it is open by rejecting, later as an error of the
 * stream. The kubelet cannot close one direction: ending the stream ends both. Needs the verbs `get` and
 * (from Kubernetes 1.35) `create` on `pods/portforward`.
 */
export async function forwardPort(access: ClusterAccess, port: PodPort, options: ForwardOptions): Promise<Duplex> {
  return await open(access, port, options, (signal) => findReason(access, port, { ...options, signal }));
}

/** Opens a connection that calls `explain` when it breaks without a reason. */
async function open(
  access: ClusterAccess,
  { namespace, pod, port }: PodPort,
  { timeoutMs, signal }: ForwardOptions,
  explain: Explain,
): Promise<ForwardedPort> {
  const resource = { ...resourceOf(PODS, namespace), plural: "pods/portforward", name: pod };
  const request: ApiRequest = { verb: "get", resource };
  const { server, headers, tls, proxyUrl } = await access.forRequest();
  const dispatcher = createDispatcher(tls, proxyUrl, timeoutMs);
  let refusal: ApiFailure | undefined;
  const path = objectPath(resourceOf(PODS, namespace), pod, { subresource: "portforward", ports: String(port) });
  const socket = new WebSocket(server.replace(/^http/, "ws") + path, {
    protocols: [PROTOCOL],
    dispatcher: dispatcher.compose(
      readRefusal((code, body) => {
        refusal = failureOfAnswer(request, { code, status: body });
      }),
    ),
    headers: { ...headers },
  });
  socket.binaryType = "arraybuffer";
  const stream = new ForwardedPort(socket, { dispatcher, request, explain });
  const timer = AbortSignal.timeout(timeoutMs);
  try {
    await once(stream, "open", { signal: AbortSignal.any([signal, timer]) });
    return stream;
  } catch (error) {
    // The caller receives it from here.
    stream.on("error", () => undefined).destroy();
    if (refusal !== undefined) throw refusal;
    if (!timer.aborted || signal.aborted) throw error;
    throw new ApiFailure("unreachable", request, `no answer from ${server} within ${timeoutMs / 1000} s`);
  }
}

/**
 * The failure of a second connection, which only listens. A kubelet that cannot connect says so and closes
 * the connection; what was sent into it meanwhile makes TCP discard its words, here or in the API server.
 * One that is open and silent, or has data, has no reason.
 */
async function findReason(
  access: ClusterAccess,
  port: PodPort,
  { timeoutMs, signal }: ForwardOptions,
): Promise<ApiFailure | undefined> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let stream: Duplex | undefined;
  try {
    stream = await open(access, port, { timeoutMs, signal: ended }, () => Promise.resolve(undefined));
    stream.once("data", () => stream?.destroy());
    await once(stream, "close", { signal: AbortSignal.any([ended, AbortSignal.timeout(REASON_MS)]) });
    return undefined;
  } catch (error) {
    return error instanceof ApiFailure ? error : undefined;
  } finally {
    stream?.destroy();
  }
}

/** Reads the answer of a server that does not open the WebSocket, which the WebSocket itself does not show. */
function readRefusal(report: (code: number, body: unknown) => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    let code = 0;
    let text = "";
    return dispatch(options, {
      onRequestStart: (...args) => handler.onRequestStart?.(...args),
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (_, statusCode) => {
        code = statusCode;
      },
      onResponseData: (_, chunk) => {
        if (text.length < ERROR_MAX_LENGTH) text += chunk.toString();
      },
      onResponseEnd: (controller) => {
        report(code, parseStatus(text));
        handler.onResponseError?.(controller, new Error(`HTTP status ${code}`));
      },
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
  };
}

/** A Status, or what a proxy says instead. */
function parseStatus(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.trim() };
  }
}

/** Finds out why a connection broke; undefined: unknown. */
type Explain = (signal: AbortSignal) => Promise<ApiFailure | undefined>;

/** The data channel of the socket. Emits `open` when the kubelet is connected. */
class ForwardedPort extends Duplex {
  /** As of a socket of Node, for clients that wait for a connection otherwise. */
  readonly readyState = "open";
  readonly #socket: WebSocket;
  readonly #dispatcher: Dispatcher;
  readonly #request: ApiRequest;
  readonly #explain: Explain;
  readonly #destroyed = new AbortController();
  /** Bytes that each channel has yet to skip. */
  readonly #skip = [PORT_BYTES, PORT_BYTES];
  #hasSent = false;
  #hasReceived = false;

  constructor(
    socket: WebSocket,
    deps: { readonly dispatcher: Dispatcher; readonly request: ApiRequest; readonly explain: Explain },
  ) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#dispatcher = deps.dispatcher;
    this.#request = deps.request;
    this.#explain = deps.explain;
    socket.addEventListener("open", () => this.emit("open"));
    socket.addEventListener("message", ({ data }) => this.#receive(Buffer.from(data as ArrayBuffer)));
    socket.addEventListener("close", ({ code }) => this.#closed(code));
    socket.addEventListener("error", ({ error }) => void this.#broken(reasonOf(error)));
  }

  override _read(): void {
    // The WebSocket does not wait for its reader.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#hasSent = true;
    this.#socket.send(Buffer.concat([Buffer.of(DATA_CHANNEL), chunk]));
    done();
  }

  override _final(done: () => void): void {
    this.#socket.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#destroyed.abort();
    // The dispatcher does not know the connection of an open WebSocket any more.
    this.#socket.close();
    this.#dispatcher.destroy().then(
      () => done(error),
      (cause: unknown) => done(error ?? (cause instanceof Error ? cause : new Error(String(cause)))),
    );
  }

  #receive(message: Buffer): void {
    const [channel = ERROR_CHANNEL] = message;
    const skipped = Math.min(this.#skip[channel] ?? 0, message.length - 1);
    this.#skip[channel] = (this.#skip[channel] ?? 0) - skipped;
    const data = message.subarray(1 + skipped);
    if (data.length === 0) return;
    if (channel === DATA_CHANNEL) {
      this.#hasReceived = true;
      this.push(data);
    } else this.destroy(this.#failure(`the kubelet says "${data.toString().trim()}"`)); // In one message.
  }

  /** After `error` too, which comes for every other end than a close frame. */
  #closed(code: number): void {
    if (!this.destroyed && code !== BROKEN) this.push(null);
  }

  async #broken(reason: string): Promise<void> {
    const canExplain = this.#hasSent && !this.#hasReceived && !this.destroyed;
    const explained = canExplain ? await this.#explain(this.#destroyed.signal) : undefined;
    this.destroy(explained ?? this.#failure(reason));
  }

  #failure(reason: string): ApiFailure {
    return new ApiFailure("unreachable", this.#request, reason);
  }
}

/** The words of Node or undici; those of a connection that just ended are empty. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error && cause.message !== "" ? cause.message : "the connection broke";
}
