// Calls a rate limit service over gRPC, as a proxy does: with one connection of its own.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** Longest time of a call, in milliseconds, on a busy machine. */
const CALL_TIMEOUT_MS = 30_000;

/** A reconnection comes soon; certificates are for localhost. */
const CHANNEL = {
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 200,
  "grpc.ssl_target_name_override": "localhost",
} as const;

/** A client of one address, such as `127.0.0.1:8081` or `unix:/run/s`. */
export class RateLimitClient {
  readonly #client: Client;

  constructor(address: string, channel: ChannelCredentials = credentials.createInsecure()) {
    this.#client = new Client(address, channel, CHANNEL);
  }

  /** Calls ShouldRateLimit; fails with the status of the call. */
  call(
    request: MessageInitShape<typeof RateLimitRequestSchema>,
    timeoutMs = CALL_TIMEOUT_MS,
  ): Promise<RateLimitResponse> {
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
    const [message, options] = [create(RateLimitRequestSchema, request), { deadline: Date.now() + timeoutMs }];
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: RateLimitResponse): void => {
        if (response === undefined) reject(error ?? new Error("The response is empty"));
        else resolve(response);
      };
      const metadata = new Metadata();
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, metadata, options, done);
    });
  }

  close(): void {
    this.#client.close();
  }
}
