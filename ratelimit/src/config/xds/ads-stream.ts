// One connection to the configuration server with one ADS stream on it.
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { type Node, NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { StatusSchema } from "@weir/proto/generated/google/rpc/status_pb";
import { HEARTBEAT_FEATURE, HEARTBEAT_TYPE_URL } from "@weir/proto/grpc/heartbeat";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { AdsResponse, RequestContent } from "./ads-messages.ts";
import { callReason } from "@weir/common/grpc/call-reason";
import { openTlsChannel, type TlsChannel } from "@weir/common/grpc/tls-channel";
import { explainFailure, isClosedSilently } from "./connection-failure.ts";
import { HeartbeatWatch } from "./heartbeat-watch.ts";
import { speaksTls } from "./tls-probe.ts";
import type { XdsOptions } from "./xds-options.ts";

/** The status code of a NACK: INVALID_ARGUMENT. */
const NACK_CODE = 3;

/**
 * Silence of a server before a ping, and the longest wait for its answer, in milliseconds. Go
 * servers end connections that ping more often than every five minutes. Heartbeats show sooner that a
 * server of Weir is dead.
 */
const KEEPALIVE = { timeMs: 310_000, timeoutMs: 20_000 };

/**
 * Longest wait for a connection, in milliseconds: the next attempt may find another replica. grpc-js
 * waits indefinitely.
 */
const CONNECT_TIMEOUT_MS = 5000;

/** Several replicas behind one name share the pods. */
const PICK_FIRST = JSON.stringify({ loadBalancingConfig: [{ pick_first: { shuffleAddressList: true } }] });

const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

const PLAIN_TEXT: TlsChannel = { credentials: credentials.createInsecure(), options: {}, certificate: undefined };

/** Receives the events of a stream. */
export interface AdsStreamListener {
  /** The connection is open. Not called for a connection that fails. */
  connected(): void;
  /** A response arrived. */
  received(response: AdsResponse): void;
  /** The stream ended; called once, and not after `close`. `isUnimplemented`: the server lacks the method. */
  ended(reason: string, isUnimplemented: boolean): void;
}

/** How a stream begins. */
export interface StreamStart {
  readonly variant: "sotw" | "delta";
  readonly request: RequestContent;
  /** That of the stream before; false for the first one. */
  readonly expectsHeartbeat: boolean;
  readonly openObservation?: OpenObservation | undefined;
}

/** Opens what else uses the connection, at the first message of the server. */
export type OpenObservation = (client: Client, headers: Metadata) => Closable;

/** Something that ends with the connection. */
interface Closable {
  close(): void;
}

type AdsRequest = DiscoveryRequest | DeltaDiscoveryRequest;

type Call = ClientDuplexStream<AdsRequest, AdsResponse>;

/** A stream. */
export class AdsStream {
  readonly #client: Client;
  readonly #variant: StreamStart["variant"];
  readonly #call: Call;
  readonly #node: Node;
  readonly #serverUrl: string;
  readonly #connectTimeoutMs: number;
  /** Undefined = plaintext. */
  readonly #tls: { readonly certificate: TlsChannel["certificate"] } | undefined;
  readonly #heartbeat: HeartbeatWatch;
  readonly #headers: Metadata;
  readonly #openObservation: OpenObservation | undefined;
  #observation: Closable | undefined;
  #listener: AdsStreamListener | undefined;

  /** Connects and sends the first request. Fails with TLS_FILE_INVALID when the files are invalid. */
  constructor(options: XdsOptions, start: StreamStart, listener: AdsStreamListener) {
    const { variant, request, expectsHeartbeat, openObservation } = start;
    this.#listener = listener;
    this.#headers = headersOf(options);
    this.#openObservation = openObservation;
    this.#variant = variant;
    this.#heartbeat = new HeartbeatWatch(expectsHeartbeat, (waitedMs) =>
      this.#end(`the server has sent nothing for ${waitedMs} ms`),
    );
    this.#connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    const clientFeatures = [HEARTBEAT_FEATURE];
    this.#node = create(NodeSchema, { id: options.nodeId, clientFeatures, ...metadataOf(options.nodeMetadata) });
    const { serverUrl, tls } = options;
    const channel = tls === undefined ? PLAIN_TEXT : openTlsChannel(serverUrl, tls.paths, tls.serverName);
    this.#serverUrl = serverUrl;
    this.#tls = tls === undefined ? undefined : { certificate: channel.certificate };
    this.#client = new Client(serverUrl, channel.credentials, { ...channelOptions(options), ...channel.options });
    this.#call = openCall(this.#client, variant, this.#headers);
    this.#call.on("data", (response: AdsResponse) => this.#receive(response));
    // The first of "error" and "end" ends the stream; after an error there may be both.
    let isOver = false;
    const over = (end: () => unknown): void => {
      if (!isOver) end();
      isOver = true;
    };
    this.#call.on("error", (error: ServiceError) => over(() => this.#fail(error)));
    this.#call.on("end", () => over(() => this.#end("the server ended the stream")));
    this.#watchConnection();
    this.send(request);
  }

  /** True if the server sends heartbeats: for the next stream. */
  get expectsHeartbeat(): boolean {
    return this.#heartbeat.isExpected;
  }

  send({ versionInfo, responseNonce, errorMessage, heldVersions = {} }: RequestContent): void {
    const fields = { responseNonce, node: this.#node, typeUrl: RATE_LIMIT_CONFIG_TYPE_URL };
    const request =
      this.#variant === "sotw"
        ? create(DiscoveryRequestSchema, { versionInfo, ...fields })
        : create(DeltaDiscoveryRequestSchema, { initialResourceVersions: heldVersions, ...fields });
    if (errorMessage !== undefined)
      request.errorDetail = create(StatusSchema, { code: NACK_CODE, message: errorMessage });
    this.#call.write(request);
  }

  #receive(response: AdsResponse): void {
    if (this.#listener === undefined) return;
    this.#observation ??= this.#openObservation?.(this.#client, this.#headers);
    if (response.typeUrl !== HEARTBEAT_TYPE_URL) {
      this.#heartbeat.response();
      this.#listener.received(response);
      return;
    }
    this.#heartbeat.heartbeat(Number("versionInfo" in response ? response.versionInfo : response.systemVersionInfo));
    const { typeUrl, nonce: responseNonce } = response;
    const schema = this.#variant === "sotw" ? DiscoveryRequestSchema : DeltaDiscoveryRequestSchema;
    if (this.#call.writable) this.#call.write(create(schema, { typeUrl, responseNonce }));
  }

  /** Sends nothing more; the server ends the stream when it has read everything. */
  finish(): void {
    this.#call.end();
  }

  /** Ends stream and connection; the listener is not called any more. */
  close(): void {
    this.#listener = undefined;
    this.#heartbeat.stop();
    this.#observation?.close();
    this.#call.cancel();
    this.#client.close();
  }

  #watchConnection(): void {
    const timeoutMs = this.#connectTimeoutMs;
    this.#client.waitForReady(Date.now() + timeoutMs, (error) => {
      if (this.#listener === undefined) return;
      if (error === undefined) {
        this.#heartbeat.connected();
        this.#listener.connected();
      }
      // A refused connection has ended the stream already; then there is no listener.
      else this.#end(`no connection within ${timeoutMs} ms`);
    });
  }

  /** Never rejects. */
  async #fail(error: ServiceError): Promise<void> {
    const reason = callReason(error);
    if (error.code === status.UNIMPLEMENTED) {
      this.#end(reason, true);
      return;
    }
    if (this.#tls !== undefined) {
      this.#end(explainFailure(reason, { kind: "tls", ...this.#tls, now: new Date() }));
      return;
    }
    const isTlsServer = isClosedSilently(reason) && (await speaksTls(this.#serverUrl));
    this.#end(explainFailure(reason, { kind: "plaintext", isTlsServer }));
  }

  #end(reason: string, isUnimplemented = false): void {
    const listener = this.#listener;
    this.close();
    listener?.ended(reason, isUnimplemented);
  }
}

function openCall(client: Client, variant: StreamStart["variant"], headers: Metadata): Call {
  const { streamAggregatedResources, deltaAggregatedResources } = serviceDefinition(AggregatedDiscoveryService);
  const { path, requestSerialize, responseDeserialize } =
    variant === "sotw" ? streamAggregatedResources : deltaAggregatedResources;
  // A stream has requests and responses of one variant.
  const serialize = requestSerialize as (request: AdsRequest) => Buffer;
  return client.makeBidiStreamRequest<AdsRequest, AdsResponse>(path, serialize, responseDeserialize, headers);
}

function metadataOf(metadata: ReadonlyMap<string, string>): { metadata?: JsonObject } {
  return metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) };
}

function headersOf(options: XdsOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of options.headers) metadata.set(name, value);
  return metadata;
}

function channelOptions({ messageMaxBytes, keepalive = KEEPALIVE }: XdsOptions): ChannelOptions {
  return {
    "grpc.max_receive_message_length": messageMaxBytes ?? MESSAGE_MAX_BYTES,
    "grpc.keepalive_time_ms": keepalive.timeMs,
    "grpc.keepalive_timeout_ms": keepalive.timeoutMs,
    "grpc.service_config": PICK_FIRST,
    "grpc.use_local_subchannel_pool": 1, // Each connection is new and reads the TLS files again.
    "grpc.enable_channelz": 0,
  };
}
