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
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { StatusSchema } from "@weir/proto/generated/google/rpc/status_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { RequestContent } from "./ads-messages.ts";
import { callReason } from "@weir/common/grpc/call-reason";
import { openTlsChannel, type TlsChannel } from "@weir/common/grpc/tls-channel";
import type { XdsOptions } from "./xds-options.ts";

/** The status code of a NACK: INVALID_ARGUMENT. */
const NACK_CODE = 3;

/**
 * Silence of a server before a ping, and the longest wait for its answer, in milliseconds. Go
 * servers end connections that ping more often than every five minutes.
 */
const KEEPALIVE = { timeMs: 310_000, timeoutMs: 20_000 };

/**
 * Longest wait for a connection, in milliseconds: gRPC's own minimum. grpc-js waits indefinitely.
 */
const CONNECT_TIMEOUT_MS = 20_000;

const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

const PLAIN_TEXT: TlsChannel = { credentials: credentials.createInsecure(), options: {} };

/** Receives the events of a stream. */
export interface AdsStreamListener {
  /** The connection is open. Not called for a connection that fails. */
  connected(): void;
  /** A response arrived. */
  received(response: DiscoveryResponse): void;
  /** The stream ended; called once, and not after `close`. */
  ended(reason: string): void;
}

type Call = ClientDuplexStream<DiscoveryRequest, DiscoveryResponse>;

/** A stream. */
export class AdsStream {
  readonly #client: Client;
  readonly #call: Call;
  readonly #node: Node;
  readonly #connectTimeoutMs: number;
  #listener: AdsStreamListener | undefined;

  /** Connects and sends `first`. Fails with TLS_FILE_INVALID when the files are invalid. */
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
    // The first of "error" and "end" ends the stream.
    this.#call.on("error", (error: ServiceError) => this.#end(reasonOf(error)));
    this.#call.on("end", () => this.#end("the server ended the stream"));
    this.#watchConnection();
    this.send(first);
  }

  /** Sends a request. */
  send({ versionInfo, responseNonce, errorMessage }: RequestContent): void {
    const request = create(DiscoveryRequestSchema, {
      versionInfo,
      responseNonce,
      node: this.#node,
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
    });
    if (errorMessage !== undefined)
      request.errorDetail = create(StatusSchema, { code: NACK_CODE, message: errorMessage });
    this.#call.write(request);
  }

  /** Ends stream and connection; the listener is not called any more. */
  close(): void {
    this.#listener = undefined;
    this.#call.cancel();
    this.#client.close();
  }

  #watchConnection(): void {
    const timeoutMs = this.#connectTimeoutMs;
    this.#client.waitForReady(Date.now() + timeoutMs, (error) => {
      if (error === undefined) this.#listener?.connected();
      // A refused connection has ended the stream already; then there is no listener.
      else this.#end(`no connection within ${timeoutMs} ms`);
    });
  }

  #end(reason: string): void {
    const listener = this.#listener;
    this.close();
    listener?.ended(reason);
  }
}

/** The reason, with the setting that helps, if any. */
function reasonOf(error: ServiceError): string {
  const reason = callReason(error);
  if (error.code === status.RESOURCE_EXHAUSTED && error.details.includes("larger than max"))
    return `${reason}; XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit`;
  // OpenSSL's error for the bytes of a server without TLS.
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
    "grpc.use_local_subchannel_pool": 1, // Each connection is new and reads the TLS files again.
    "grpc.enable_channelz": 0,
  };
}
