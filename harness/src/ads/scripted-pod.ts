// A scripted pod: a gRPC client that keeps every response, and answers by hand or as its script does; a
// scripted one connects to the next replica when it loses its stream.
import { readFileSync } from "node:fs";

import { create, type JsonObject } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { type RateLimitConfig, RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { type MethodDefinition, serviceDefinition } from "@weir/proto/grpc/service-definition";

import { eventually } from "../processes/eventually.ts";
import type { CertificateFiles } from "../servers/certificate-files.ts";
import { configsIn, PodEnd, requestOf, type RequestText } from "./pod-end.ts";

/** Back-off of a pod unless it has another, in milliseconds. */
const BACKOFF_MS = [100, 500] as const;

/** The answer to a response: "" is an ACK, another text a NACK; undefined: it does not answer. */
export type Answer = (response: DiscoveryResponse) => string | undefined;

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

/** A method that opens a stream. */
export type StreamMethod = MethodDefinition<DiscoveryRequest, DiscoveryResponse>;

const AGGREGATED: StreamMethod = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources;

/** The stream of the aggregated service whose resources are skipped: hundreds of pods in one process cost little. */
export const WITHOUT_RESOURCES: StreamMethod = { ...AGGREGATED, responseDeserialize: readHead };

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
  readonly credentials?: ChannelCredentials;
  /** Default: this machine. */
  readonly host?: string;
  /** Default: the stream of the aggregated service. */
  readonly method?: StreamMethod;
  /** Shortest and longest back-off, in milliseconds. */
  readonly backoffMs?: readonly [number, number];
  /** How much a replica may send before it receives more window; default: the initial one of HTTP/2. */
  readonly windowBytes?: number;
}

/** The status of a stream that has ended. */
export type StreamEnd = Pick<StatusObject, "code" | "details">;

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
  #client!: Client;
  #stream!: ClientDuplexStream<DiscoveryRequest, DiscoveryResponse>;
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

  /** The last version that its script ACKed. */
  get ackedVersion(): string {
    return this.acked.at(-1)?.versionInfo ?? "";
  }

  request(text: RequestText = {}): void {
    this.send(requestOf(text));
  }

  send(request: DiscoveryRequest): void {
    this.requests.push(request);
    this.#stream.write(request);
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
    this.#stream.cancel();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#stream.cancel();
    this.#client.close();
  }

  #open(): void {
    const {
      host = "127.0.0.1",
      credentials: secure = credentials.createInsecure(),
      method = AGGREGATED,
      windowBytes,
    } = this.#options;
    // Connections are shared by address otherwise, and a test of the handshake would see none.
    this.#client = new Client(`${host}:${this.port}`, secure, {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
      "grpc.ssl_target_name_override": "localhost", // Node refuses an IP address as the name of a TLS server.
      ...(windowBytes !== undefined && { "grpc-node.flow_control_window": windowBytes }),
    });
    this.#stream = this.#client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    this.#stream.on("data", (response: DiscoveryResponse) => this.#take(response));
    this.#stream.on("error", () => undefined); // "status" follows.
    this.#stream.on("status", ({ code, details }: StatusObject) => this.#lost({ code, details }));
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

  #take(response: DiscoveryResponse): void {
    if (!this.#isServed) this.servedAgainMs = performance.now();
    this.#isServed = true;
    this.receive(response);
    const message = this.answer(response);
    if (message === undefined) return;
    if (message === "") this.acked.push(response);
    const { isReference = false } = this.#options;
    this.request({
      version: this.ackedVersion,
      nonce: response.nonce,
      error: message === "" ? undefined : { code: isReference ? status.OK : status.INVALID_ARGUMENT, message },
      ...(isReference && this.#node),
    });
  }

  #lost(end: StreamEnd): void {
    this.#client.close();
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

/** Of a pod with one of these certificates, and the authority of its control plane. */
export function credentialsOf(certificates: DevelopmentCertificates | CertificateFiles): ChannelCredentials {
  const { ca, key, cert } =
    "rateLimit" in certificates
      ? { ca: certificates.ca.cert, ...certificates.rateLimit }
      : { ca: certificates.ca, key: certificates.clientKey, cert: certificates.clientCert };
  return credentials.createSsl(readFileSync(ca), readFileSync(key), readFileSync(cert));
}

function readHead(bytes: Uint8Array): DiscoveryResponse {
  const head = create(DiscoveryResponseSchema);
  const { versionInfo, typeUrl, nonce } = DiscoveryResponseSchema.field;
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === versionInfo.number) head.versionInfo = reader.string();
    else if (number === typeUrl.number) head.typeUrl = reader.string();
    else if (number === nonce.number) head.nonce = reader.string();
    else reader.skip(wireType, number);
  }
  return head;
}
