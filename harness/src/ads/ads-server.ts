// A scripted ADS server over Node's HTTP/2: it publishes states, or does with each stream what its script
// says, below gRPC, too. Every request that breaks the protocol is remembered as a violation.
import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema, RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { HEARTBEAT_TYPE_URL } from "@weir/proto/grpc/heartbeat";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import {
  type Observation,
  type ObserveRequest,
  ObserveRequestSchema,
  ObserveResponseSchema,
  ObserveService,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { grpcMessage } from "../http2/http2-frames.ts";
import { eventually } from "../processes/eventually.ts";
import { createMessageReader } from "./message-reader.ts";

/** The only method. */
const STREAM = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources.path;

/** The method on which clients report what they observe. */
const OBSERVE = serviceDefinition(ObserveService).observe.path;

/** Status code of gRPC. */
const UNIMPLEMENTED = 12;

/** A request of a client: the first of a stream, or an answer to a response. */
export type ClientRequest =
  | { readonly kind: "subscribed"; readonly version: string }
  | { readonly kind: "ACK"; readonly version: string }
  | { readonly kind: "NACK"; readonly version: string; readonly keeps: string; readonly reason: string };

/** Handles a stream after its first request; `number` counts streams from 0. */
export type Script = (stream: AdsStream, number: number) => unknown;

/** A resource with one rule `k`, or with a unit that no loader accepts. */
export function rateLimitConfig(domain: string, options: { readonly unit?: RateLimitUnit } = {}): Any {
  const config = create(RateLimitConfigSchema, {
    name: `resource-${domain}`,
    domain,
    descriptors: [{ key: "k", rateLimit: { unit: options.unit ?? RateLimitUnit.DAY, requestsPerUnit: 1 } }],
  });
  return create(AnySchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, value: toBinary(RateLimitConfigSchema, config) });
}

/** A response as bytes, with the prefix. */
export function responseFrame(version: string, resources: readonly Any[], nonce = `nonce-${version}`): Buffer {
  return messageBytes({ versionInfo: version, nonce, resources: [...resources] });
}

/** The same of any fields; the type is RateLimitConfig's by default. */
export function messageBytes(fields: MessageInitShape<typeof DiscoveryResponseSchema>): Buffer {
  const response = create(DiscoveryResponseSchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, ...fields });
  return grpcMessage(toBinary(DiscoveryResponseSchema, response));
}

/** One stream of a client, with everything below it. */
export class AdsStream {
  readonly stream: ServerHttp2Stream;
  readonly session: Http2Session;
  readonly socket: Socket;
  /** Requests of the client so far, but for answers to heartbeats. */
  readonly requests: DiscoveryRequest[] = [];
  /** Nonces of the heartbeats that the client answered. */
  readonly beats: string[] = [];
  /** Versions sent and not yet answered, by nonce in the order of sending. */
  readonly unanswered = new Map<string, string>();
  /** The last version that the client ACKed. */
  accepted: string | undefined;
  #status = 0;
  #changed = Promise.withResolvers<void>();

  constructor(
    stream: ServerHttp2Stream,
    session: Http2Session,
    socket: Socket,
    onRequest: (stream: AdsStream) => void,
  ) {
    [this.stream, this.session, this.socket] = [stream, session, socket];
    for (const event of ["error", "close"]) stream.on(event, () => this.#notify());
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(this.#status) }));
    const read = createMessageReader((message) => {
      const request = fromBinary(DiscoveryRequestSchema, message);
      if (request.typeUrl === HEARTBEAT_TYPE_URL) {
        this.beats.push(request.responseNonce);
        return;
      }
      this.requests.push(request);
      onRequest(this);
      this.#notify();
    });
    stream.on("data", read);
  }

  /** Resolves when the client has sent so many requests, or with false when its stream is over before. */
  readonly hasReceived = async (count: number): Promise<boolean> => {
    while (this.requests.length < count && !this.stream.destroyed) await this.#changed.promise;
    return this.requests.length >= count;
  };

  /** Begins the answer unless it has begun. */
  readonly respond = (): void => {
    if (!this.stream.headersSent && !this.stream.destroyed)
      this.stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  };

  write(bytes: Buffer): void {
    this.respond();
    if (this.stream.writable) this.stream.write(bytes);
  }

  /** Sends a heartbeat: the next one comes within `silenceMaxMs`. */
  beat(silenceMaxMs: number, nonce = "beat"): void {
    this.write(messageBytes({ typeUrl: HEARTBEAT_TYPE_URL, versionInfo: String(silenceMaxMs), nonce }));
  }

  /** Ends it in order, with a status of gRPC. */
  end(status = 0): void {
    this.respond();
    this.#status = status;
    this.stream.end();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** A stream on which a client reports what it observes. */
export class ObserveStream {
  readonly stream: ServerHttp2Stream;
  readonly socket: Socket;
  readonly requests: ObserveRequest[] = [];
  /** Size of the largest of them, in bytes. */
  largestBytes = 0;

  constructor(stream: ServerHttp2Stream, socket: Socket) {
    [this.stream, this.socket] = [stream, socket];
    stream.on("error", () => undefined); // The client ends it, too.
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const read = createMessageReader((message) => {
      this.largestBytes = Math.max(this.largestBytes, message.length);
      this.requests.push(fromBinary(ObserveRequestSchema, message));
    });
    stream.on("data", read);
  }

  /** The observations that came so far. */
  get observations(): readonly Observation[] {
    return this.requests.flatMap(({ content }) => (content.case === "observation" ? [content.value] : []));
  }

  /** Asks for something else. */
  send(wanted: MessageInitShape<typeof ObserveResponseSchema>): void {
    const response = create(ObserveResponseSchema, wanted);
    this.stream.write(grpcMessage(toBinary(ObserveResponseSchema, response)));
  }
}

/** The server. It answers each subscription with the state published last, if there is one. */
export class ScriptedAdsServer {
  /** Every stream, in the order of arrival. */
  readonly streams: AdsStream[] = [];
  /** Every request of clients, over all streams. */
  readonly received: ClientRequest[] = [];
  /** Requests that broke the protocol. */
  readonly violations: string[] = [];
  /** Node and headers of the newest stream. */
  node: DiscoveryRequest["node"];
  headers: IncomingHttpHeaders = {};
  port = 0;
  /** Methods that clients called and it does not have. */
  readonly refusedMethods: string[] = [];
  /** Answers each new stream in place of the published state. */
  script: Script | undefined;
  /** Streams on which clients report what they observe, in the order of arrival. */
  readonly observeStreams: ObserveStream[] = [];
  /** First response on such a stream; undefined: the server does not have the method. */
  watch: MessageInitShape<typeof ObserveResponseSchema> | undefined;
  /** True if clients may leave responses unanswered that were replaced before they could answer. */
  mayLeaveUnanswered = false;
  #server: Http2Server | undefined;
  readonly #sockets = new Set<Socket>();
  #published: { readonly version: string; readonly resources: readonly Any[] } | undefined;
  #nonces = 0;

  constructor(script?: Script) {
    this.script = script;
  }

  /** Opens it, on the same port as before if it was open before; with TLS, clients need a certificate. */
  async open(tls?: Pick<SecureServerOptions, "ca" | "cert" | "key">): Promise<void> {
    const server = tls === undefined ? createServer() : createSecureServer({ ...tls, requestCert: true });
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // The client ends connections, too.
      socket.on("close", () => this.#sockets.delete(socket));
    });
    server.on("sessionError", () => undefined); // That is what some tests are about.
    server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => this.#serve(stream, headers));
    await once(server.listen(this.port, "127.0.0.1"), "listening");
    this.port = (server.address() as AddressInfo).port;
  }

  /** Closes it as a crash would. */
  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends every stream in order. */
  endStreams(): void {
    for (const stream of this.#subscribed()) stream.end();
  }

  /** Publishes a state to every stream, and to later ones. */
  publish(version: string, resources: readonly Any[]): void {
    this.#published = { version, resources };
    this.sendAll(version, resources);
  }

  /** Sends a response that is not the published state to every stream. */
  sendAll(version: string, resources: readonly Any[], typeUrl = RATE_LIMIT_CONFIG_TYPE_URL): void {
    for (const stream of this.#subscribed()) this.send(stream, version, resources, typeUrl);
  }

  send(stream: AdsStream, version: string, resources: readonly Any[], typeUrl = RATE_LIMIT_CONFIG_TYPE_URL): void {
    const nonce = `nonce-${(this.#nonces += 1)}`;
    if (typeUrl === RATE_LIMIT_CONFIG_TYPE_URL) stream.unanswered.set(nonce, version);
    stream.write(messageBytes({ versionInfo: version, nonce, typeUrl, resources: [...resources] }));
  }

  /** Resolves when the condition is true. */
  async until(condition: () => boolean): Promise<void> {
    await eventually("clients", () => {
      if (!condition()) throw new Error(`they sent ${JSON.stringify(this.received)}`);
    });
  }

  #subscribed(): readonly AdsStream[] {
    return this.streams.filter(({ stream, requests }) => stream.writable && requests.length > 0);
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { session } = stream;
    // The session shows its socket in a form that cannot be destroyed; the number of the port leads to the real one.
    const socket = [...this.#sockets].find(({ remotePort }) => remotePort === session?.socket.remotePort);
    if (session === undefined || socket === undefined) return;
    const { ":path": method = "" } = headers;
    if (method === OBSERVE && this.watch !== undefined) {
      const observe = new ObserveStream(stream, socket);
      this.observeStreams.push(observe);
      observe.send(this.watch);
      return;
    }
    if (method !== STREAM) {
      this.refusedMethods.push(method);
      stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-status": String(UNIMPLEMENTED) },
        { endStream: true },
      );
      return;
    }
    this.headers = headers;
    const ads = new AdsStream(stream, session, socket, (each) => this.#take(each, each.requests.at(-1)!));
    if (this.script === undefined) stream.on("end", () => ads.end());
    this.streams.push(ads);
  }

  #take(stream: AdsStream, request: DiscoveryRequest): void {
    if (request.typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL) this.violations.push(`type ${request.typeUrl}`);
    if (request.resourceNames.length > 0) this.violations.push("names resources");
    if (request.node === undefined) this.violations.push("no node");
    if (stream.requests.length === 1) this.#takeSubscription(stream, request);
    else this.#takeAnswer(stream, request);
  }

  #takeSubscription(stream: AdsStream, request: DiscoveryRequest): void {
    this.node = request.node;
    if (request.responseNonce !== "") this.violations.push("a nonce on a new stream");
    if (request.errorDetail !== undefined) this.violations.push("an error on a new stream");
    this.received.push({ kind: "subscribed", version: request.versionInfo });
    if (this.script !== undefined) void this.script(stream, this.streams.indexOf(stream));
    else if (this.#published !== undefined) this.send(stream, this.#published.version, this.#published.resources);
  }

  #takeAnswer(stream: AdsStream, { responseNonce, versionInfo, errorDetail }: DiscoveryRequest): void {
    const { unanswered, accepted } = stream;
    if (this.mayLeaveUnanswered && unanswered.has(responseNonce)) {
      for (const nonce of unanswered.keys()) {
        if (nonce === responseNonce) break;
        unanswered.delete(nonce);
      }
    }
    const [nonce, sent = ""] = [...unanswered][0] ?? [];
    if (responseNonce !== nonce) {
      this.violations.push(`answers ${responseNonce}, the next to be answered is ${nonce ?? "none"}`);
      return;
    }
    unanswered.delete(nonce);
    if (errorDetail === undefined) {
      if (versionInfo !== sent) this.violations.push(`ACKs ${versionInfo}, sent was ${sent}`);
      stream.accepted = versionInfo;
      this.received.push({ kind: "ACK", version: versionInfo });
      return;
    }
    const { code, message } = errorDetail;
    if (code !== 3) this.violations.push(`NACKs with code ${code}`);
    if (message === "") this.violations.push("NACKs without a reason");
    if (accepted !== undefined && versionInfo !== accepted)
      this.violations.push(`keeps ${versionInfo}, ACKed was ${accepted}`);
    this.received.push({ kind: "NACK", version: sent, keeps: versionInfo, reason: message });
  }
}
