// The gRPC health service. Every known name has the health of the process.
import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type {
  StreamingCall,
  StreamingMethod,
  StreamingReceiver,
  UnaryCall,
  UnaryMethod,
} from "@weir/http2/grpc/method";
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";
import { GrpcStatus, type GrpcStatusName } from "@weir/http2/grpc/status";

import { decodeMessage, ENCODED_MESSAGE, libraryMethod } from "@weir/http2/grpc/library-messages";
import { malformedRequestText } from "@weir/http2/grpc/malformed-message";
import type { Health } from "../../health/health.ts";
import type { ServiceStatistics } from "../../statistics/service-statistics.ts";
import { type EndableStream, OpenStreams } from "../open-streams.ts";
import { ResponseTimes, type ResponseTimesDeps } from "../response-times.ts";

/**
 * The known names: the server as a whole, envoyproxy/ratelimit's name for it, and the service's
 * full name.
 */
const SERVICES: readonly string[] = ["", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"];

/** Most streams that watch at a time: an Envoy or a probe holds one each. */
const WATCHES_MAX = 1000;

/** The text of the status NOT_FOUND for other names, as in envoyproxy/ratelimit. */
const UNKNOWN_SERVICE = "unknown service";

export interface HealthMethodsDeps extends ResponseTimesDeps {
  readonly health: Health;
  readonly statistics: ServiceStatistics;
}

/** The method Check. */
export function createCheck(deps: HealthMethodsDeps): UnaryMethod {
  return counted("Check", HealthCheckRequestSchema, deps, (call, { service }) => {
    const answer = checkAnswer(deps.health, service);
    if (answer === undefined) call.fail(GrpcStatus.NOT_FOUND, UNKNOWN_SERVICE);
    else call.reply(ENCODED_MESSAGE, toBinary(HealthCheckResponseSchema, answer));
  });
}

/** The method List. */
export function createList(deps: HealthMethodsDeps): UnaryMethod {
  return counted("List", HealthListRequestSchema, deps, (call) => {
    const statuses = Object.fromEntries(SERVICES.map((service) => [service, response(servingStatus(deps.health))]));
    call.reply(ENCODED_MESSAGE, toBinary(HealthListResponseSchema, create(HealthListResponseSchema, { statuses })));
  });
}

/** The method Watch. */
export function createWatch(watches: HealthWatches): StreamingMethod {
  return { kind: "streaming", open: (call) => new Watch(call, watches) };
}

/**
 * The streams that watch. A stream for an unknown name gets SERVICE_UNKNOWN and stays open, as the
 * protocol requires: the name could become known.
 */
export class HealthWatches {
  readonly #health: Health;
  readonly #watches = new OpenStreams<Watch>({ what: "watches", max: WATCHES_MAX });

  constructor(health: Health) {
    this.#health = health;
    health.onChange(() => this.#sendStatus());
  }

  /** Sends the status, and each change of it from now on; or ends the stream. */
  add(watch: Watch): void {
    if (!this.#watches.add(watch)) return;
    watch.send(checkAnswer(this.#health, watch.service) ?? response(HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN));
  }

  /** Forgets a stream that has ended. */
  delete(watch: Watch): void {
    this.#watches.delete(watch);
  }

  /** Ends all streams, and every later one immediately. */
  end(): void {
    this.#watches.end();
  }

  #sendStatus(): void {
    for (const watch of this.#watches) {
      const status = checkAnswer(this.#health, watch.service);
      if (status !== undefined) watch.send(status);
    }
  }
}

/**
 * A method that is answered before its handler returns. As in envoyproxy/ratelimit, a request that
 * is no message of its type is no call of the method.
 */
function counted<Schema extends DescMessage>(
  name: string,
  schema: Schema,
  deps: HealthMethodsDeps,
  answer: (call: UnaryCall, request: MessageShape<Schema>) => void,
): UnaryMethod {
  const { totalRequests, responseTime } = deps.statistics.method(name);
  const times = new ResponseTimes(responseTime, deps);
  return libraryMethod(schema, (call, request) => {
    totalRequests.add(1);
    const startMs = times.begin();
    answer(call, request);
    times.end(startMs);
  });
}

/** A call of Watch, which has one request and answers without an end. */
class Watch implements EndableStream, StreamingReceiver {
  readonly #call: StreamingCall;
  readonly #watches: HealthWatches;
  #service: string | undefined;
  /** The newest status, while the client does not take an earlier one. */
  #unsent: HealthCheckResponse | undefined;

  constructor(call: StreamingCall, watches: HealthWatches) {
    this.#call = call;
    this.#watches = watches;
  }

  /** The name that it watches. */
  get service(): string {
    return this.#service ?? "";
  }

  message(bytes: Buffer, start: number, end: number): void {
    try {
      const { service } = decodeMessage(HealthCheckRequestSchema, bytes, start, end);
      if (this.#service === undefined) {
        this.#service = service;
        this.#watches.add(this);
        return;
      }
    } catch (error) {
      this.end("INTERNAL", malformedRequestText(error));
      return;
    }
    this.end("INTERNAL", "Watch has one request");
  }

  halfClosed(): void {
    if (this.#service === undefined) this.end("INTERNAL", "Watch has one request");
  }

  sent(): void {
    const status = this.#unsent;
    if (status === undefined) return;
    this.#unsent = undefined;
    this.send(status);
  }

  cancelled(): void {
    this.#watches.delete(this);
  }

  /** Sends a status; when the client reads slowly, the newest one is enough. */
  send(status: HealthCheckResponse): void {
    if (!this.#call.send(ENCODED_MESSAGE, toBinary(HealthCheckResponseSchema, status))) this.#unsent = status;
  }

  end(name: GrpcStatusName, message: string): void {
    this.#watches.delete(this);
    this.#call.end(GrpcStatus[name], message);
  }
}

/** The answer of Check; undefined for an unknown name. */
function checkAnswer(health: Health, service: string): HealthCheckResponse | undefined {
  return SERVICES.includes(service) ? response(servingStatus(health)) : undefined;
}

function servingStatus(health: Health): HealthCheckResponse_ServingStatus {
  return health.isHealthy() ? HealthCheckResponse_ServingStatus.SERVING : HealthCheckResponse_ServingStatus.NOT_SERVING;
}

function response(status: HealthCheckResponse_ServingStatus): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status });
}
