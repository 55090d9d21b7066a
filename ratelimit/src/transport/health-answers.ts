// The answers of the gRPC health service, for every gRPC engine. Every known name has the health of the
// process.
import { create } from "@bufbuild/protobuf";
import {
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  type HealthListResponse,
  HealthListResponseSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";

import type { Health } from "../health/health.ts";
import { type EndableStream, OpenStreams } from "./open-streams.ts";

/**
 * The known names: the server as a whole, envoyproxy/ratelimit's name for it, and the service's
 * full name.
 */
const SERVICES: readonly string[] = ["", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"];

/** Most streams that watch at a time: an Envoy or a probe holds one each. */
const WATCHES_MAX = 1000;

/** The text of the status NOT_FOUND for other names, as in envoyproxy/ratelimit. */
export const UNKNOWN_SERVICE = "unknown service";

/** The answer of Check; undefined for an unknown name. */
export function checkAnswer(health: Health, service: string): HealthCheckResponse | undefined {
  return SERVICES.includes(service) ? response(servingStatus(health)) : undefined;
}

/** The answer of List. */
export function listAnswer(health: Health): HealthListResponse {
  const statuses = Object.fromEntries(SERVICES.map((service) => [service, response(servingStatus(health))]));
  return create(HealthListResponseSchema, { statuses });
}

/** A client that watches. */
export interface HealthWatch extends EndableStream {
  /** The name that it watches. */
  readonly service: string;
  /** Sends a status; when the client reads slowly, the newest one is enough. */
  send(status: HealthCheckResponse): void;
}

/**
 * The streams that watch. A stream for an unknown name gets SERVICE_UNKNOWN and stays open, as the
 * protocol requires: the name could become known.
 */
export class HealthWatches {
  readonly #health: Health;
  readonly #watches = new OpenStreams<HealthWatch>({ what: "watches", max: WATCHES_MAX });

  constructor(health: Health) {
    this.#health = health;
    health.onChange(() => this.#sendStatus());
  }

  /** Sends the status, and each change of it from now on; or ends the stream. */
  add(watch: HealthWatch): void {
    if (!this.#watches.add(watch)) return;
    watch.send(checkAnswer(this.#health, watch.service) ?? response(HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN));
  }

  /** Forgets a stream that has ended. */
  delete(watch: HealthWatch): void {
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

function servingStatus(health: Health): HealthCheckResponse_ServingStatus {
  return health.isHealthy() ? HealthCheckResponse_ServingStatus.SERVING : HealthCheckResponse_ServingStatus.NOT_SERVING;
}

function response(status: HealthCheckResponse_ServingStatus): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status });
}
