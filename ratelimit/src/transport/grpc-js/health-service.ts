// The gRPC health service over grpc-js. Every known name has the health of the process.
import { create } from "@bufbuild/protobuf";
import { type handleServerStreamingCall, type handleUnaryCall, type ServerWritableStream, status } from "@grpc/grpc-js";
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  type HealthListRequest,
  type HealthListResponse,
  HealthListResponseSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";

import type { Health } from "../../health/health.ts";
import type { ServiceStatistics } from "../../statistics/service-statistics.ts";

/**
 * The known names: the server as a whole, envoyproxy/ratelimit's name for it, and the service's
 * full name.
 */
const SERVICES: readonly string[] = ["", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"];

/** Most streams that watch at a time: an Envoy or a probe holds one each. */
const WATCHES_MAX = 1000;

/** Handlers for `Server.addService`. */
export interface HealthHandlers {
  readonly handlers: {
    readonly check: handleUnaryCall<HealthCheckRequest, HealthCheckResponse>;
    readonly list: handleUnaryCall<HealthListRequest, HealthListResponse>;
    readonly watch: handleServerStreamingCall<HealthCheckRequest, HealthCheckResponse>;
  };
  /** Ends all watching streams, and every later one immediately. */
  endWatches(): void;
}

type WatchCall = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/** The dependencies of the service. */
export interface HealthServiceDeps {
  readonly health: Health;
  readonly statistics: ServiceStatistics;
  readonly nowMs: () => number;
}

/** Handlers that answer from `health`. */
export function createHealthHandlers({ health, statistics, nowMs }: HealthServiceDeps): HealthHandlers {
  const watches = new Watches(health);
  const check: handleUnaryCall<HealthCheckRequest, HealthCheckResponse> = (call, callback) => {
    if (SERVICES.includes(call.request.service)) callback(null, response(servingStatus(health)));
    else callback({ code: status.NOT_FOUND, details: "unknown service" });
  };
  const list: handleUnaryCall<HealthListRequest, HealthListResponse> = (_call, callback) => {
    const statuses = Object.fromEntries(SERVICES.map((service) => [service, response(servingStatus(health))]));
    callback(null, create(HealthListResponseSchema, { statuses }));
  };
  return {
    handlers: {
      check: counted("Check", check, { statistics, nowMs }),
      list: counted("List", list, { statistics, nowMs }),
      watch: (call) => watches.add(call),
    },
    endWatches: () => watches.end(),
  };
}

function counted<Request, Response>(
  name: string,
  handler: handleUnaryCall<Request, Response>,
  { statistics, nowMs }: Pick<HealthServiceDeps, "statistics" | "nowMs">,
): handleUnaryCall<Request, Response> {
  const method = statistics.method(name);
  return (call, callback) => {
    const startMs = nowMs();
    method.totalRequests.add(1);
    handler(call, callback);
    method.responseTime.record(nowMs() - startMs);
  };
}

/**
 * The streams that watch. A stream for an unknown name gets SERVICE_UNKNOWN and stays open, as the
 * protocol requires: the name could become known.
 */
class Watches {
  readonly #health: Health;
  /** Each with whether its name is known. */
  readonly #calls = new Map<WatchCall, boolean>();
  #isEnded = false;

  constructor(health: Health) {
    this.#health = health;
    health.onChange(() => this.#sendStatus());
  }

  add(call: WatchCall): void {
    if (this.#isEnded) {
      refuse(call, status.UNAVAILABLE, "the server is shutting down");
      return;
    }
    if (this.#calls.size >= WATCHES_MAX) {
      refuse(call, status.RESOURCE_EXHAUSTED, `too many watches, the maximum is ${WATCHES_MAX}`);
      return;
    }
    call.on("cancelled", () => this.#calls.delete(call));
    call.on("error", () => this.#calls.delete(call));
    const isKnown = SERVICES.includes(call.request.service);
    this.#calls.set(call, isKnown);
    call.write(response(isKnown ? servingStatus(this.#health) : HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN));
  }

  end(): void {
    this.#isEnded = true;
    for (const call of this.#calls.keys()) refuse(call, status.UNAVAILABLE, "the server is shutting down");
    this.#calls.clear();
  }

  #sendStatus(): void {
    for (const [call, isKnown] of this.#calls) if (isKnown) call.write(response(servingStatus(this.#health)));
  }
}

/** Ends a stream with a status. */
function refuse(call: WatchCall, code: number, details: string): void {
  call.emit("error", { code, details });
}

function servingStatus(health: Health): HealthCheckResponse_ServingStatus {
  return health.isHealthy() ? HealthCheckResponse_ServingStatus.SERVING : HealthCheckResponse_ServingStatus.NOT_SERVING;
}

function response(servingStatus: HealthCheckResponse_ServingStatus): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status: servingStatus });
}
