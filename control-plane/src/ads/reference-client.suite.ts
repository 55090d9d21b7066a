// A scripted client that speaks as the field's reference rate limit service does when its
// configuration comes over xDS: its habits, also the odd ones, are what existing fleets will
// connect with. It keeps the laws of fake-ads-stream.suite.ts for everything that it is sent. Only
// integration tests import it.
//
// Its habits: the node is in every request; no names are listed; a rejection has a message and the
// code 0, and the version accepted before; a response replaces everything, and one bad resource
// rejects it whole, in a text that begins with the resource's name; whatever ends the stream, the
// connection is closed and dialled again after a constant pause; the first request of a new stream
// carries the nonce of the old one and the version that was received last, accepted or not;
// responses above 4 MiB are not received.
import { fromBinary } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitConfig,
  RateLimitConfigSchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { expectLawful, requestOf } from "./stream/fake-ads-stream.suite.ts";

/** What a Go gRPC client receives at most, in bytes. */
const RECEIVE_MAX_BYTES = 4 * 1024 * 1024;

/** How the client is set up. */
export interface ReferenceClientOptions {
  readonly port: number;
  readonly nodeId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The pause before it dials again; ten seconds in the field. */
  readonly redialMs: number;
  /**
   * Why it cannot load a resource, after the resource's name and a colon; undefined when it can.
   */
  readonly refusal?: (config: RateLimitConfig) => string | undefined;
}

/** The client. It dials when it is made, and until it is closed. */
export class ReferenceClient {
  /** Domains active, sorted, with the requests per unit of their first rule. */
  rules: Readonly<Record<string, number>> = {};
  /** How many responses it has received, on all streams. */
  received = 0;
  /** Every request that it has sent, on all streams. */
  readonly requests: DiscoveryRequest[] = [];
  /** How often it has dialled. */
  dials = 0;
  /** Replaced by tests to change what it can load. */
  refusal: (config: RateLimitConfig) => string | undefined;
  /** How it words a rejection; replaced by tests of words that name nothing. */
  wording = (name: string, problem: string): string => `${name}: ${problem}`;
  #port: number;
  readonly #options: ReferenceClientOptions;
  #lastNonce = "";
  #lastReceivedVersion = "";
  #lastAcceptedVersion = "";
  #nonces: string[] = [];
  #client: Client | undefined;
  #stream: ClientDuplexStream<DiscoveryRequest, DiscoveryResponse> | undefined;
  #redial: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ReferenceClientOptions) {
    this.#options = options;
    this.#port = options.port;
    this.refusal = options.refusal ?? (() => undefined);
    this.#dial();
  }

  get acceptedVersion(): string {
    return this.#lastAcceptedVersion;
  }

  /** Connects to another replica the next time. */
  moveTo(port: number): void {
    this.#port = port;
  }

  /** Loses the connection, as when a node between goes. */
  cut(): void {
    this.#stream?.cancel();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#redial);
    this.#hangUp();
  }

  #dial(): void {
    this.dials += 1;
    this.#nonces = [];
    const client = new Client(`127.0.0.1:${this.#port}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
      "grpc.max_receive_message_length": RECEIVE_MAX_BYTES,
    });
    const method = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources;
    const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    this.#client = client;
    this.#stream = stream;
    stream.on("data", (response: DiscoveryResponse) => this.#receive(response));
    stream.on("error", () => undefined); // The status comes, too.
    stream.on("status", () => {
      this.#hangUp();
      if (!this.#isClosed) this.#redial = setTimeout(() => this.#dial(), this.#options.redialMs);
    });
    // The routine that accepts, also on a stream that has received nothing yet.
    this.#send({ version: this.#lastReceivedVersion, nonce: this.#lastNonce });
  }

  #hangUp(): void {
    this.#stream?.cancel();
    this.#client?.close();
  }

  #receive(response: DiscoveryResponse): void {
    expectLawful(response, this.#nonces);
    this.#nonces.push(response.nonce);
    this.received += 1;
    this.#lastNonce = response.nonce;
    this.#lastReceivedVersion = response.versionInfo;
    const configs = response.resources.map(({ value }) => fromBinary(RateLimitConfigSchema, value));
    const text = this.#problemOf(configs);
    if (text !== undefined) {
      this.#send({ version: this.#lastAcceptedVersion, nonce: response.nonce, error: { code: 0, message: text } });
      return;
    }
    this.#lastAcceptedVersion = response.versionInfo;
    this.rules = Object.fromEntries(
      configs.map(({ domain, descriptors }) => [domain, descriptors[0]?.rateLimit?.requestsPerUnit ?? 0]),
    );
    this.#send({ version: response.versionInfo, nonce: response.nonce });
  }

  #problemOf(configs: readonly RateLimitConfig[]): string | undefined {
    const domains = new Set<string>();
    for (const config of configs) {
      const { name, domain } = config;
      const problem =
        this.refusal(config) ?? (domains.has(domain) ? `duplicate domain '${domain}' in config file` : undefined);
      if (problem !== undefined) return this.wording(name, problem);
      domains.add(domain);
    }
    return undefined;
  }

  #send(text: {
    readonly version: string;
    readonly nonce: string;
    readonly error?: { readonly code: number; readonly message: string };
  }): void {
    const { nodeId = "default", metadata = {} } = this.#options;
    const request = requestOf({ ...text, node: { id: nodeId, metadata: { ...metadata } } });
    this.requests.push(request);
    this.#stream?.write(request);
  }
}
