// A scripted pod, for tests that need many pods, an old one or one that misbehaves: a gRPC client that
// keeps every response, answers as configured, and connects to the next replica when its stream ends.
import { readFileSync } from "node:fs";
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type {
  DiscoveryRequest,
  DiscoveryResponse,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitConfig,
  RateLimitConfigSchema,
  RateLimitUnit,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import { eventually } from "../processes/eventually.ts";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";

/** Shortest and longest back-off of a pod that has lost its stream, in milliseconds. */
const BACKOFF_MS = { shortest: 100, longest: 500 } as const;

/** The gRPC status code of a NACK: INVALID_ARGUMENT. */
const NACK_CODE = 3;

/** The answer to each response: none, or a NACK with the returned text; undefined is an ACK. */
export type Answer = "nothing" | ((configs: readonly RateLimitConfig[]) => string | undefined);

/** Answers as an image does that does not know the unit "week". */
export const answerOfOldImage: Answer = (configs) => {
  const unknown = configs.find(({ descriptors: [rule] }) => rule?.rateLimit?.unit === RateLimitUnit.WEEK);
  return unknown && `${unknown.name}: invalid rate limit unit`;
};

/** The authority of the control plane, and the certificate of a pod. */
type PodCertificates = Pick<DevelopmentCertificates, "ca" | "rateLimit">;

/** How to make one. */
export interface StreamPodOptions {
  readonly nodeId: string;
  /** ADS ports of the replicas that it connects to in turn. */
  readonly ports: readonly number[];
  /** Where they are; by default this machine. */
  readonly host?: string;
  /** Name that their certificate has; by default the host. */
  readonly serverName?: string;
  readonly certificates: PodCertificates;
  /** Default: an ACK. */
  readonly answer?: Answer;
}

/** The client; it connects immediately. */
export class StreamPod {
  readonly nodeId: string;
  /** On all its streams. */
  readonly responses: DiscoveryResponse[] = [];
  /** Those that it ACKed. */
  readonly acked: DiscoveryResponse[] = [];
  losses = 0;
  /** The back-off after the last loss, in milliseconds. */
  backoffMs = 0;
  /** When the first response after the last loss came. */
  servedAgainMs = 0;
  readonly #options: StreamPodOptions;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StreamPodOptions) {
    this.nodeId = options.nodeId;
    this.#options = options;
    this.#open();
  }

  /** Port of its replica, or of the next one; 0 when it is closed. */
  get port(): number {
    const { ports } = this.#options;
    return this.#isClosed ? 0 : ports[this.losses % ports.length]!;
  }

  get last(): DiscoveryResponse {
    const response = this.responses.at(-1);
    if (response === undefined) throw new Error(`${this.nodeId} has no response`);
    return response;
  }

  /** The limit of each resource of the last response, by name without namespace. */
  limits(): Readonly<Record<string, number | undefined>> {
    return limitsIn(this.last);
  }

  /** The same of each response that it ACKed. */
  ackedLimits(): readonly Readonly<Record<string, number | undefined>>[] {
    return this.acked.map(limitsIn);
  }

  /** Resolves with the response of this number, counted from 1. */
  response(count: number): Promise<DiscoveryResponse> {
    return eventually(`response ${count} of ${this.nodeId}`, () => {
      const response = this.responses[count - 1];
      if (response === undefined) throw new Error(`there are ${this.responses.length}`);
      return response;
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.close();
  }

  /** The last version that it ACKed; a new stream begins with it. */
  get #ackedVersion(): string {
    return this.acked.at(-1)?.versionInfo ?? "";
  }

  #open(): void {
    const { client, stream } = openAdsStream(this.port, this.#options.certificates, this.#options);
    this.#client = client;
    let isServed = false;
    stream.on("data", (response: DiscoveryResponse) => {
      if (!isServed) this.servedAgainMs = performance.now();
      isServed = true;
      this.responses.push(response);
      const { answer = () => undefined } = this.#options;
      if (answer === "nothing") return;
      const message = answer(configsIn(response));
      if (message === undefined) this.acked.push(response);
      const errorDetail = message === undefined ? {} : { errorDetail: { code: NACK_CODE, message } };
      stream.write(request({ versionInfo: this.#ackedVersion, responseNonce: response.nonce, ...errorDetail }));
    });
    stream.on("error", () => undefined); // "status" follows.
    stream.on("status", () => this.#lost(client));
    stream.write(request({ node: { id: this.nodeId }, versionInfo: this.#ackedVersion }));
  }

  #lost(client: Client): void {
    client.close();
    if (this.#isClosed) return;
    this.losses += 1;
    const { shortest, longest } = BACKOFF_MS;
    this.backoffMs = shortest + Math.random() * (longest - shortest);
    this.#timer = setTimeout(() => this.#open(), this.backoffMs);
  }
}

/** Opens a stream to the control plane at a port, by default of this machine, with the certificate of a pod. */
export function openAdsStream(
  port: number,
  { ca, rateLimit }: PodCertificates,
  { host = "localhost", serverName = host }: Pick<StreamPodOptions, "host" | "serverName"> = {},
): { readonly client: Client; readonly stream: ClientDuplexStream<DiscoveryRequest, DiscoveryResponse> } {
  const [root, key, cert] = [ca.cert, rateLimit.key, rateLimit.cert].map((path) => readFileSync(path));
  const client = new Client(`${host}:${port}`, credentials.createSsl(root, key, cert), {
    "grpc.ssl_target_name_override": serverName,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": 0,
  });
  const { path, requestSerialize, responseDeserialize } =
    serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources;
  return { client, stream: client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize) };
}

function configsIn({ resources }: DiscoveryResponse): readonly RateLimitConfig[] {
  return resources.map(({ value }) => fromBinary(RateLimitConfigSchema, value));
}

function limitsIn(response: DiscoveryResponse): Readonly<Record<string, number | undefined>> {
  const limits = configsIn(response).map(
    ({ name, descriptors: [rule] }) => [name.slice(name.indexOf("/") + 1), rule?.rateLimit?.requestsPerUnit] as const,
  );
  return Object.fromEntries(limits);
}

function request(fields: MessageInitShape<typeof DiscoveryRequestSchema>): DiscoveryRequest {
  return create(DiscoveryRequestSchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, ...fields });
}
