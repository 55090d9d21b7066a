// A configuration server for tests, on real gRPC. It enforces the protocol on its clients: every
// request that breaks it is remembered as a violation.
import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials, type ServerDuplexStream, type UntypedHandleCall } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema, RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

const TYPE_URL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 40_000;

/** A request of a client: the first of a stream, or an answer to a response. */
export type ClientRequest =
  | { readonly kind: "subscribed"; readonly version: string }
  | { readonly kind: "ACK"; readonly version: string }
  | { readonly kind: "NACK"; readonly version: string; readonly keeps: string; readonly reason: string };

type Stream = ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>;

/** A resource with one rule `k`, or with a unit that no loader accepts. */
export function rateLimitConfig(domain: string, options: { readonly unit?: RateLimitUnit } = {}): Any {
  const config = create(RateLimitConfigSchema, {
    name: `resource-${domain}`,
    domain,
    descriptors: [{ key: "k", rateLimit: { unit: options.unit ?? RateLimitUnit.DAY, requestsPerUnit: 1 } }],
  });
  return create(AnySchema, { typeUrl: TYPE_URL, value: toBinary(RateLimitConfigSchema, config) });
}

/**
 * What the server knows of a stream: versions sent and not yet answered, by nonce in the order of
 * sending, and the last one ACKed.
 */
interface StreamState {
  readonly unanswered: Map<string, string>;
  accepted: string | undefined;
}

/** The server. It answers each subscription with the state published last, if there is one. */
export class FakeAdsServer {
  /** Every request of clients, over all streams. */
  readonly received: ClientRequest[] = [];
  /** Requests that broke the protocol. */
  readonly violations: string[] = [];
  /** Node and headers of the newest stream's first request. */
  node: DiscoveryRequest["node"];
  headers: Readonly<Record<string, unknown>> = {};
  port = 0;
  /** What each new stream is answered instead of the published state. */
  onStream: ((stream: Stream) => void) | undefined;
  /** Whether clients may leave responses unanswered that were replaced before they could answer. */
  mayLeaveUnanswered = false;
  #server: Server | undefined;
  readonly #streams = new Map<Stream, StreamState>();
  #published: { readonly version: string; readonly resources: readonly Any[] } | undefined;
  #nonces = 0;
  #changed = Promise.withResolvers<void>();

  /** Opens it, on the same port as before if it was open before. */
  async open(credentials: ServerCredentials = ServerCredentials.createInsecure()): Promise<void> {
    const server = new Server();
    const handlers: Record<string, UntypedHandleCall> = {
      streamAggregatedResources: (stream: Stream) => this.#serve(stream),
      deltaAggregatedResources: (stream: Stream) => stream.end(),
    };
    const definition = serviceDefinition(AggregatedDiscoveryService);
    const { streamAggregatedResources: method } = definition;
    // Lets a test write bytes that are no message.
    const responseSerialize = (message: DiscoveryResponse | Buffer): Buffer =>
      Buffer.isBuffer(message) ? message : method.responseSerialize(message);
    server.addService({ ...definition, streamAggregatedResources: { ...method, responseSerialize } }, handlers);
    this.port = await new Promise((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.port}`, credentials, (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    this.#server = server;
  }

  /** Closes it as a crash would. */
  close(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
    this.#streams.clear();
  }

  /** Ends every stream in order. */
  endStreams(): void {
    for (const stream of this.#streams.keys()) stream.end();
    this.#streams.clear();
  }

  /** Publishes a state to every stream, and to later ones. */
  publish(version: string, resources: readonly Any[]): void {
    this.#published = { version, resources };
    for (const stream of this.#streams.keys()) this.send(stream, version, resources);
  }

  /** Sends a response that is not the published state to every stream. */
  sendAll(version: string, resources: readonly Any[], typeUrl = TYPE_URL): void {
    for (const stream of this.#streams.keys()) this.send(stream, version, resources, typeUrl);
  }

  send(stream: Stream, version: string, resources: readonly Any[], typeUrl = TYPE_URL): void {
    this.#nonces += 1;
    const nonce = `nonce-${this.#nonces}`;
    if (typeUrl === TYPE_URL) this.#streams.get(stream)?.unanswered.set(nonce, version);
    stream.write(create(DiscoveryResponseSchema, { versionInfo: version, nonce, typeUrl, resources: [...resources] }));
  }

  /** Resolves when the condition is true. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(WAIT_MAX_MS);
    while (!condition()) {
      const aborted = new Promise<never>((_resolve, reject) => {
        deadline.addEventListener("abort", () =>
          reject(new Error(`waited too long; clients sent ${JSON.stringify(this.received)}`)),
        );
      });
      await Promise.race([this.#changed.promise, aborted]);
    }
  }

  #serve(stream: Stream): void {
    this.headers = stream.metadata.getMap();
    stream.on("error", () => this.#streams.delete(stream));
    stream.on("end", () => {
      this.#streams.delete(stream);
      stream.end();
    });
    stream.on("data", (request: DiscoveryRequest) => this.#take(stream, request));
  }

  #take(stream: Stream, request: DiscoveryRequest): void {
    if (request.typeUrl !== TYPE_URL) this.violations.push(`type ${request.typeUrl}`);
    if (request.resourceNames.length > 0) this.violations.push("names resources");
    if (request.node === undefined) this.violations.push("no node");
    const state = this.#streams.get(stream);
    if (state === undefined) this.#takeSubscription(stream, request);
    else this.#takeAnswer(state, request);
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }

  #takeSubscription(stream: Stream, request: DiscoveryRequest): void {
    this.node = request.node;
    if (request.responseNonce !== "") this.violations.push("a nonce on a new stream");
    if (request.errorDetail !== undefined) this.violations.push("an error on a new stream");
    this.#streams.set(stream, { unanswered: new Map(), accepted: undefined });
    this.received.push({ kind: "subscribed", version: request.versionInfo });
    if (this.onStream !== undefined) this.onStream(stream);
    else if (this.#published !== undefined) this.send(stream, this.#published.version, this.#published.resources);
  }

  #takeAnswer(state: StreamState, request: DiscoveryRequest): void {
    if (this.mayLeaveUnanswered && state.unanswered.has(request.responseNonce)) {
      for (const nonce of state.unanswered.keys()) {
        if (nonce === request.responseNonce) break;
        state.unanswered.delete(nonce);
      }
    }
    const [next] = state.unanswered;
    if (request.responseNonce !== next?.[0]) {
      this.violations.push(`answers ${request.responseNonce}, the next to be answered is ${next?.[0] ?? "none"}`);
      return;
    }
    const [nonce, sent] = next;
    state.unanswered.delete(nonce);
    if (request.errorDetail === undefined) {
      if (request.versionInfo !== sent) this.violations.push(`ACKs ${request.versionInfo}, sent was ${sent}`);
      state.accepted = request.versionInfo;
      this.received.push({ kind: "ACK", version: request.versionInfo });
      return;
    }
    const { code, message } = request.errorDetail;
    if (code !== 3) this.violations.push(`NACKs with code ${code}`);
    if (message === "") this.violations.push("NACKs without a reason");
    if (state.accepted !== undefined && request.versionInfo !== state.accepted) {
      this.violations.push(`keeps ${request.versionInfo}, ACKed was ${state.accepted}`);
    }
    this.received.push({ kind: "NACK", version: sent, keeps: request.versionInfo, reason: message });
  }
}
