// A scripted pod: a client over Node's HTTP/2, of which hundreds cost little, that keeps every response. It answers
// by hand or as its script does; a scripted one connects to the next replica when it loses its stream.
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import { createSecureContext, type SecureContext } from "node:tls";

import { fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { type RateLimitConfig, RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { grpcMessage } from "../http2/http2-frames.ts";
import { eventually } from "../processes/eventually.ts";
import type { CertificateFiles } from "../servers/certificate-files.ts";
import type { createHeadReader, ResponseListener } from "./head-reader.ts";
import { createMessageReader } from "./message-reader.ts";
import { ObserveStream } from "./observe-stream.ts";
import { configsIn, PodEnd, requestOf, type RequestText } from "./pod-end.ts";

const AGGREGATED = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources.path;

/** Status codes of gRPC. */
const CODE = { OK: 0, INVALID_ARGUMENT: 3, UNAVAILABLE: 14 } as const;

/** Back-off of a pod unless it has another, in milliseconds. */
const BACKOFF_MS = [100, 500] as const;

/** The answer to a response: "" is an ACK, another text a NACK; undefined: it does not answer. */
export type Answer = (response: DiscoveryResponse, sizeBytes: number) => string | undefined;

/** ACKs everything. */
export const ACK: Answer = () => "";

/** NACKs a response by the name of the first resource that the image of the pod cannot load. */
export function cannotLoad(isUnknown: (config: RateLimitConfig) => boolean, reason: string): Answer {
  return (response) => {
    const unknown = configsIn(response).find((config) => isUnknown(config));
    return unknown === undefined ? "" : `${unknown.name}: ${reason}`;
  };
}

/** Answers as an image does that does not know the unit "week". */
export const answerOfOldImage = cannotLoad(
  ({ descriptors: [rule] }) => rule?.rateLimit?.unit === RateLimitUnit.WEEK,
  "invalid rate limit unit",
);

/** How a pod connects and speaks. */
export interface ScriptedPodOptions {
  /** A pod with an identifier subscribes by itself, and connects again when it loses its stream. */
  readonly nodeId?: string;
  readonly metadata?: JsonObject;
  /** Default: none, the test answers by hand. */
  readonly answer?: Answer;
  /**
   * As envoyproxy/ratelimit: each request has the node; a NACK has the code 0; a new stream begins with the
   * last nonce and the last version received, ACKed or not.
   */
  readonly isReference?: boolean;
  /** Default: plaintext. */
  readonly tls?: SecureContext | undefined;
  /** Default: this machine. */
  readonly host?: string;
  /** The name in the server's certificate; default: localhost. */
  readonly serverName?: string;
  /** Path of the method; default: the stream of the aggregated service. */
  readonly path?: string;
  /** Reads DATA; default: whole responses. */
  readonly createReader?: typeof createHeadReader;
  /** Shortest and longest back-off, in milliseconds. */
  readonly backoffMs?: readonly [number, number];
  /** How much a replica may send before it receives more window; default: the initial one of HTTP/2. */
  readonly windowBytes?: number;
}

/** The status of a stream that has ended. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
}

/** The client; it connects immediately. */
export class ScriptedPod extends PodEnd {
  readonly nodeId: string | undefined;
  /** Responses that its script ACKed. */
  readonly acked: DiscoveryResponse[] = [];
  /** All that it sent, on all streams. */
  readonly requests: DiscoveryRequest[] = [];
  /** Ports of the replicas that it connects to in turn. */
  ports: readonly number[];
  answer: Answer;
  losses = 0;
  /** How long it backed off before its stream, since the one before that had a response; in milliseconds. */
  backoffMs = 0;
  /** When the first response on its stream came. */
  servedAgainMs = 0;
  /** How its stream ended; undefined while it is open. */
  end: StreamEnd | undefined;
  readonly #options: ScriptedPodOptions;
  #session!: ClientHttp2Session;
  #stream!: ClientHttp2Stream;
  readonly #ended = Promise.withResolvers<StreamEnd>();
  #timer: NodeJS.Timeout | undefined;
  #isServed = false;
  #isClosed = false;

  constructor(ports: number | readonly number[], options: ScriptedPodOptions = {}) {
    super();
    this.ports = typeof ports === "number" ? [ports] : ports;
    this.nodeId = options.nodeId;
    this.answer = options.answer ?? (() => undefined);
    this.#options = options;
    this.#open();
  }

  /** Port of its replica, or of the next one; 0 when it is closed. */
  get port(): number {
    return this.#isClosed ? 0 : this.ports[this.losses % this.ports.length]!;
  }

  /** The configurations that it has: those of the last response that its script ACKed. */
  get configs(): readonly RateLimitConfig[] {
    return this.acked.slice(-1).flatMap(configsIn);
  }

  /** The texts of its NACKs. */
  get nacks(): readonly string[] {
    return this.requests.flatMap(({ errorDetail }) => errorDetail?.message ?? []);
  }

  /** The last version that its script ACKed. */
  get ackedVersion(): string {
    return this.acked.at(-1)?.versionInfo ?? "";
  }

  request(text: RequestText = {}): void {
    this.send(requestOf(text));
  }

  send(request: DiscoveryRequest): void {
    this.requests.push(request);
    this.#stream.write(grpcMessage(toBinary(DiscoveryRequestSchema, request)));
  }

  /** Resolves with the response of this number, counted from 1. */
  response(count: number): Promise<DiscoveryResponse> {
    return eventually(`response ${count} of ${this.nodeId ?? "the pod"}`, () => {
      const response = this.responses[count - 1];
      if (response === undefined)
        throw new Error(`there are ${this.responses.length}, the stream ended with ${this.end?.details ?? "nothing"}`);
      return response;
    });
  }

  /** Resolves with the end of its first stream. */
  ended(): Promise<StreamEnd> {
    return this.#ended.promise;
  }

  /** Opens a stream of observations on its connection. */
  observe(): ObserveStream {
    return new ObserveStream(this.#session);
  }

  /** Stops reading from the connection, as a pod that hangs. */
  pause(): void {
    this.#stream.pause();
  }

  /** Ends its side, and continues to receive. */
  finish(): void {
    this.#stream.end();
  }

  /** Loses the connection, as when a node in between fails. */
  cut(): void {
    this.#session.destroy();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#session.destroy();
  }

  #open(): void {
    const {
      host = "127.0.0.1",
      serverName = "localhost",
      tls,
      path = AGGREGATED,
      windowBytes = 65_535,
    } = this.#options;
    const session = connect(`${tls === undefined ? "http" : "https"}://${host}:${this.port}`, {
      // Node refuses an IP address as the name of a TLS server.
      ...(tls && { secureContext: tls, servername: serverName }),
      settings: { initialWindowSize: windowBytes },
    });
    session.on("connect", () => session.setLocalWindowSize(windowBytes));
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    [this.#session, this.#stream] = [session, stream];
    let end: StreamEnd = { code: CODE.UNAVAILABLE, details: "the connection was lost" };
    const readStatus = ({ "grpc-status": code, "grpc-message": details = "" }: IncomingHttpHeaders): void => {
      if (code !== undefined) end = { code: Number(code), details: decodeURIComponent(String(details)) };
    };
    for (const event of ["response", "trailers"]) stream.on(event, readStatus);
    const { createReader = createResponseReader } = this.#options;
    stream.on(
      "data",
      createReader((response, sizeBytes) => this.#take(response, sizeBytes)),
    );
    for (const part of [session, stream]) part.on("error", () => undefined); // "close" follows.
    stream.on("end", () => stream.close()); // A status ends both sides of a gRPC stream.
    stream.on("close", () => this.#lost(end));
    this.begin();
    [this.end, this.#isServed] = [undefined, false];
    if (this.nodeId === undefined) return;
    const last = this.#options.isReference === true ? this.responses.at(-1) : undefined;
    const resumed = last && { version: last.versionInfo, nonce: last.nonce };
    this.request({ version: this.ackedVersion, ...resumed, ...this.#node });
  }

  get #node(): Pick<RequestText, "node"> {
    const { nodeId = "", metadata } = this.#options;
    return { node: { id: nodeId, ...(metadata && { metadata }) } };
  }

  #take(response: DiscoveryResponse, sizeBytes: number): void {
    if (!this.#isServed) this.servedAgainMs = performance.now();
    this.#isServed = true;
    this.receive(response);
    if (response !== this.responses.at(-1)) return; // A heartbeat.
    const message = this.answer(response, sizeBytes);
    if (message === undefined) return;
    if (message === "") this.acked.push(response);
    const { isReference = false } = this.#options;
    this.request({
      version: this.ackedVersion,
      nonce: response.nonce,
      error: message === "" ? undefined : { code: isReference ? CODE.OK : CODE.INVALID_ARGUMENT, message },
      ...(isReference && this.#node),
    });
  }

  #lost(end: StreamEnd): void {
    this.#session.destroy();
    this.end = end;
    this.#ended.resolve(end);
    if (this.#isClosed || this.nodeId === undefined) return;
    this.losses += 1;
    if (this.#isServed) this.backoffMs = 0;
    const [shortestMs, longestMs] = this.#options.backoffMs ?? BACKOFF_MS;
    const lostMs = performance.now();
    this.#timer = setTimeout(
      () => {
        this.backoffMs += performance.now() - lostMs; // As long as the timer really took.
        this.#open();
      },
      shortestMs + Math.random() * (longestMs - shortestMs),
    );
  }
}

/** TLS with the certificate of a pod, and the authority of its control plane. */
export function tlsOf(certificates: DevelopmentCertificates | CertificateFiles): SecureContext {
  const { ca, key, cert } =
    "rateLimit" in certificates
      ? { ca: certificates.ca.cert, ...certificates.rateLimit }
      : { ca: certificates.ca, key: certificates.clientKey, cert: certificates.clientCert };
  return createSecureContext({ ca: readFileSync(ca), key: readFileSync(key), cert: readFileSync(cert) });
}

function createResponseReader(onResponse: ResponseListener): (chunk: Buffer) => void {
  return createMessageReader((message) => onResponse(fromBinary(DiscoveryResponseSchema, message), message.length));
}
