// A rate limit service for tests, over real gRPC: it counts descriptors against the limits that it is
// given, or misbehaves.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from "@grpc/grpc-js";
import {
  type RateLimitRequest,
  type RateLimitResponse,
  RateLimitResponse_Code as Code,
  RateLimitResponse_RateLimit_Unit as Unit,
  RateLimitResponseSchema,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** Seconds until every window of the server ends. */
export const RESET_SECONDS = 30;

/** How the server behaves: it decides, never answers, answers INTERNAL, or answers with a given message. */
export type Behaviour = "decides" | "silent" | "internal" | MessageInitShape<typeof RateLimitResponseSchema>;

/** Requests per minute by descriptor without values, such as "route_login.account_ip". */
export type ServedLimits = Readonly<Record<string, number>>;

/** A running server. */
export class RateLimitServer {
  behaviour: Behaviour = "decides";
  /** Every request, as `domain: (key, value)(key, value) …`. */
  readonly requests: string[] = [];
  /** The same as they came, with their headers. */
  readonly calls: { readonly request: RateLimitRequest; readonly metadata: Metadata }[] = [];
  readonly #limits: ServedLimits;
  readonly #counts = new Map<string, number>();
  readonly #server = new Server();
  port = 0;

  constructor(limits: ServedLimits = {}) {
    this.#limits = limits;
    const shouldRateLimit = (
      { request, metadata }: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
      answer: sendUnaryData<RateLimitResponse>,
    ): void => {
      this.calls.push({ request, metadata });
      this.#answer(request, answer);
    };
    this.#server.addService(serviceDefinition(RateLimitService), { shouldRateLimit });
  }

  /** Listens at `address` (host:port or unix:PATH), and returns the address that clients use. */
  async start(address = "127.0.0.1:0", credentials = ServerCredentials.createInsecure()): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.bindAsync(address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
    this.port = await promise;
    return address.startsWith("unix:") ? address : this.target;
  }

  get target(): string {
    return `127.0.0.1:${this.port}`;
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  #answer(request: RateLimitRequest, answer: sendUnaryData<RateLimitResponse>): void {
    this.requests.push(describe(request));
    switch (this.behaviour) {
      case "silent":
        return;
      case "internal":
        answer({ code: status.INTERNAL, details: "a fault" });
        return;
      case "decides":
        answer(null, create(RateLimitResponseSchema, this.#decide(request)));
        return;
      default:
        answer(null, create(RateLimitResponseSchema, this.behaviour));
    }
  }

  #decide({ domain, descriptors }: RateLimitRequest): MessageInitShape<typeof RateLimitResponseSchema> {
    const statuses = descriptors.map(({ entries }) => {
      const [route, entry] = entries;
      const limit = this.#limits[`route_${route?.value}.${entry?.key}`];
      if (limit === undefined) return { code: Code.OK };
      const counter = `${domain} ${route?.value} ${entry?.key} ${entry?.value}`;
      const count = (this.#counts.get(counter) ?? 0) + 1;
      this.#counts.set(counter, count);
      return {
        code: count > limit ? Code.OVER_LIMIT : Code.OK,
        currentLimit: { requestsPerUnit: limit, unit: Unit.MINUTE },
        limitRemaining: Math.max(0, limit - count),
        durationUntilReset: { seconds: BigInt(RESET_SECONDS), nanos: 0 },
      };
    });
    const isOver = statuses.some(({ code }) => code === Code.OVER_LIMIT);
    return { overallCode: isOver ? Code.OVER_LIMIT : Code.OK, statuses };
  }
}

function describe({ domain, descriptors }: RateLimitRequest): string {
  const texts = descriptors.map(({ entries }) => entries.map(({ key, value }) => `(${key}, ${value})`).join(""));
  return `${domain}: ${texts.join(" ")}`;
}
