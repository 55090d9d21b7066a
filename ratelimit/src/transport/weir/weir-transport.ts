// Serves gRPC with our own HTTP/2 server: ShouldRateLimit, health and reflection.
import type { Socket } from "node:net";

import type { Methods, StreamingMethod, Turn, UnaryMethod } from "@weir/http2/grpc/method";
import { Http2Server } from "@weir/http2/server/http2-server";

import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import {
  GrpcListener,
  type GrpcTransportDeps,
  type GrpcTransportOptions,
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
  MESSAGE_MAX_BYTES,
} from "../grpc-transport.ts";
import { HealthWatches } from "../health-answers.ts";
import { createReflectionStreams, REFLECTION_PATHS } from "../reflection/reflection-streams.ts";
import type { Transport } from "../transport.ts";
import type { RequestDecoderOptions } from "./codec/request-decoder.ts";
import { createCheck, createList, createWatch } from "./health-methods.ts";
import { exportHttp2Counters } from "./http2-statistics.ts";
import { createReflection } from "./reflection-method.ts";
import { ShouldRateLimit } from "./should-rate-limit.ts";

/** Dependencies of the engine. */
export interface WeirTransportDeps extends GrpcTransportDeps {
  /** The store of the statistics ratelimit.http2.*. */
  readonly store: StatisticsStore;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** Settings of the engine. */
export interface WeirTransportOptions extends GrpcTransportOptions {
  /** The longest lists of a request that are decoded; longer ones are rejected by the decider. */
  readonly request: RequestDecoderOptions;
}

/** The transport. */
export class WeirTransport implements Transport {
  readonly name = "gRPC listener";
  readonly #server: Http2Server;
  readonly #listener: GrpcListener;
  readonly #watches: HealthWatches;
  readonly #reflection = createReflectionStreams();
  #drained: Promise<void> | undefined;

  constructor(deps: WeirTransportDeps, options: WeirTransportOptions) {
    this.#watches = new HealthWatches(deps.health);
    this.#server = new Http2Server(
      { methods: this.#methods(deps, options), turn: turnOf(deps), random: deps.random },
      {
        messageMaxBytes: MESSAGE_MAX_BYTES,
        keepAliveIntervalMs: KEEPALIVE_TIME_MS,
        keepAliveTimeoutMs: KEEPALIVE_TIMEOUT_MS,
        connectionAgeMs: options.connectionAgeMaxMs || Infinity,
        connectionAgeGraceMs: options.connectionAgeGraceMs || Infinity,
      },
    );
    exportHttp2Counters(this.#server.counters, deps.store);
    this.#listener = new GrpcListener(deps, options, (socket, notHttp2) => this.#server.accept(socket, notHttp2));
  }

  address(): string | undefined {
    return this.#listener.address();
  }

  start(): Promise<void> {
    return this.#listener.open();
  }

  /** Serves a connection that another process has accepted; needs no `start`. */
  take(socket: Socket): void {
    this.#listener.take(socket);
  }

  /** Closes so many more connections gracefully; the others are served. */
  shed(connections: number): void {
    this.#server.shed(connections);
  }

  /** Open connections that `shed` closes. */
  get shedConnections(): number {
    return this.#server.shedConnections;
  }

  drain(): Promise<void> {
    this.#drained ??= this.#drainOnce();
    return this.#drained;
  }

  async stop(): Promise<void> {
    const drained = this.drain();
    this.#server.close();
    await drained;
  }

  async #drainOnce(): Promise<void> {
    this.#listener.close();
    // Streams without an end, which would keep their connections open.
    this.#watches.end();
    this.#reflection.end();
    await this.#server.drain();
  }

  #methods(deps: WeirTransportDeps, { request }: WeirTransportOptions): Methods {
    const reflection = createReflection(this.#reflection);
    return new Map<string, UnaryMethod | StreamingMethod>([
      ["/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", new ShouldRateLimit(deps, request)],
      ["/grpc.health.v1.Health/Check", createCheck(deps)],
      ["/grpc.health.v1.Health/List", createList(deps)],
      ["/grpc.health.v1.Health/Watch", createWatch(this.#watches)],
      ...REFLECTION_PATHS.map((path) => [path, reflection] as const),
    ]);
  }
}

/** The event-loop turn as the server needs it. */
function turnOf({ turn, nowMs }: WeirTransportDeps): Turn {
  return { atTurnEnd: (task) => turn.writeAnswers(task), nowMs: () => turn.nowMs(), monotonicMs: nowMs };
}
