// One connection to the configuration server with one stream on it. It moves messages; what they
// mean is ads-client-state.ts, what follows an end is xds-source.ts.
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
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { StatusSchema } from "@weir/proto/generated/google/rpc/status_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { RequestContent } from "./ads-client-state.ts";
import { callReason } from "@weir/common/grpc/call-reason";
import { openTlsChannel, type TlsChannel } from "@weir/common/grpc/tls-channel";
import type { XdsOptions } from "./xds-options.ts";

/** The status code in a rejection: INVALID_ARGUMENT. */
const REJECTION_CODE = 3;

/**
 * How long a server may be silent before it is pinged, and then may take to answer, in
 * milliseconds. Go servers end connections that ping more often than every five minutes.
 */
const KEEPALIVE = { timeMs: 310_000, timeoutMs: 20_000 };

/**
 * How long a connection may take until the server speaks HTTP/2, in milliseconds: gRPC's own
 * minimum. grpc-js waits for ever.
 */
const CONNECT_TIMEOUT_MS = 20_000;

const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

const PLAIN_TEXT: TlsChannel = { credentials: credentials.createInsecure(), options: {} };

/** Hears what happens on a stream. */
export interface AdsStreamListener {
  /** The connection stands. Not called for a connection that fails. */
  connected(): void;
  /** A response arrived. */
  received(response: DiscoveryResponse): void;
  /** The stream is over, exactly once, unless it was closed from here. */
  ended(reason: string): void;
}

/** A stream. */
export interface AdsStream {
  /** Sends a request. */
  send(content: RequestContent): void;
  /** Ends stream and connection; the listener hears nothing more. */
  close(): void;
}

type Call = ClientDuplexStream<DiscoveryRequest, DiscoveryResponse>;

/**
 * Connects, sends `first` and goes on until the stream ends. Fails with TLS_FILE_INVALID when the
 * files are not usable.
 */
export function openAdsStream(options: XdsOptions, first: RequestContent, listener: AdsStreamListener): AdsStream {
  return new GrpcAdsStream(options, first, listener);
}

class GrpcAdsStream implements AdsStream {
  readonly #client: Client;
  readonly #call: Call;
  readonly #node: Node;
  readonly #connectTimeoutMs: number;
  #listener: AdsStreamListener | undefined;

  constructor(options: XdsOptions, first: RequestContent, listener: AdsStreamListener) {
    this.#listener = listener;
    this.#connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.#node = create(NodeSchema, { id: options.nodeId, ...metadataOf(options.nodeMetadata) });
    const { serverUrl, tls } = options;
    const channel = tls === undefined ? PLAIN_TEXT : openTlsChannel(serverUrl, tls.paths, tls.serverName);
    this.#client = new Client(serverUrl, channel.credentials, { ...channelOptions(options), ...channel.options });
    const { path, requestSerialize, responseDeserialize } =
      serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources;
    this.#call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, headersOf(options));
    this.#call.on("data", (response: DiscoveryResponse) => this.#listener?.received(response));
    // After an error comes no "end" that matters: the first of the two ends the stream.
    this.#call.on("error", (error: ServiceError) => this.#end(reasonOf(error)));
    this.#call.on("end", () => this.#end("the server ended the stream"));
    this.#watchConnection();
    this.send(first);
  }

  send({ versionInfo, responseNonce, errorMessage }: RequestContent): void {
    const request = create(DiscoveryRequestSchema, {
      versionInfo,
      responseNonce,
      node: this.#node,
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
    });
    if (errorMessage !== undefined)
      request.errorDetail = create(StatusSchema, { code: REJECTION_CODE, message: errorMessage });
    this.#call.write(request);
  }

  close(): void {
    this.#listener = undefined;
    this.#call.cancel();
    this.#client.close();
  }

  #watchConnection(): void {
    const timeoutMs = this.#connectTimeoutMs;
    this.#client.waitForReady(Date.now() + timeoutMs, (error) => {
      if (error === undefined) this.#listener?.connected();
      // A refused connection has ended the stream already, and with that nobody listens.
      else this.#end(`no connection within ${timeoutMs} ms`);
    });
  }

  #end(reason: string): void {
    const listener = this.#listener;
    this.close();
    listener?.ended(reason);
  }
}

/** The reason, and which setting helps where one does. */
function reasonOf(error: ServiceError): string {
  const reason = callReason(error);
  if (error.code === status.RESOURCE_EXHAUSTED && error.details.includes("larger than max"))
    return `${reason}; XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit`;
  // What a server without TLS sends is no TLS record.
  if (error.details.includes("wrong version number"))
    return `${reason}; CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS`;
  return reason;
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
    "grpc.use_local_subchannel_pool": 1, // Each connection is a new one, with the TLS files as they are now.
    "grpc.enable_channelz": 0,
  };
}
