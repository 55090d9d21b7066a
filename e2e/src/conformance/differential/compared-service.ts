// One of the two services of a differential run: asks it, and reads what can be seen of it from
// outside: its rules, its statistics and its Redis server.
import { toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { Redis } from "ioredis";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import type { StoreServer } from "@weir/harness/servers/store-server";

/** Path of the method that is asked. */
const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** Longest time of a call, in milliseconds, on a busy machine. */
const CALL_TIMEOUT_MS = 20_000;

/** The result of a call: its encoded answer, or how it failed. */
export type CallResult = { readonly answer: Buffer } | { readonly code: string; readonly text: string };

/** A counter in Redis. */
export interface StoredCounter {
  readonly value: string;
  /** -1 for a key that never expires. */
  readonly ttlSeconds: number;
}

/** Addresses of a service and its store. */
export interface ServicePlace {
  readonly grpcPort: number;
  readonly debugPort: number;
  readonly redis: StoreServer;
}

/** A service of the run. */
export class ComparedService {
  readonly #place: ServicePlace;
  readonly #client: Client;
  readonly #redis: Redis;

  constructor(place: ServicePlace) {
    this.#place = place;
    this.#redis = new Redis(place.redis.port, place.redis.host);
    this.#client = new Client(`${STACK_HOST}:${place.grpcPort}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Sends a request. */
  ask(request: RateLimitRequest): Promise<CallResult> {
    const deadline = Date.now() + CALL_TIMEOUT_MS;
    return new Promise((resolve) => {
      const answered = (error: ServiceError | null, answer?: Buffer): void => {
        if (answer !== undefined) resolve({ answer });
        else resolve({ code: status[error?.code ?? status.UNKNOWN], text: error?.details ?? "" });
      };
      this.#client.makeUnaryRequest(METHOD, encodeRequest, asIs, request, new Metadata(), { deadline }, answered);
    });
  }

  /** The lines of `/rlconfig`, sorted. */
  async rules(): Promise<readonly string[]> {
    const response = await fetch(`http://${STACK_HOST}:${this.#place.debugPort}/rlconfig`);
    return (await response.text()).split("\n").toSorted();
  }

  /** Every key of its Redis server. */
  async counters(): Promise<ReadonlyMap<string, StoredCounter>> {
    const read = async (key: string): Promise<[string, StoredCounter]> => {
      const [value, ttlSeconds] = await Promise.all([this.#redis.get(key), this.#redis.ttl(key)]);
      return [key, { value: String(value), ttlSeconds }];
    };
    return new Map(await Promise.all((await this.#redis.keys("*")).map(read)));
  }

  /** Closes its connections. */
  close(): void {
    this.#client.close();
    this.#redis.disconnect();
  }
}

function encodeRequest(request: RateLimitRequest): Buffer {
  return Buffer.from(toBinary(RateLimitRequestSchema, request));
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
