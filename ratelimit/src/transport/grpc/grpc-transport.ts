// Serves gRPC with our own HTTP/2 server: ShouldRateLimit, health and reflection.
import type { Socket } from "node:net";

import { ConnectionListener, type ListenerTls } from "@weir/common/net/connection-listener";
import type { ListenerWords } from "@weir/common/net/handshake-failure";
import { formatAddress } from "@weir/common/net/listen";
import type { Methods, StreamingMethod, UnaryMethod } from "@weir/http2/grpc/method";
import { Http2Server } from "@weir/http2/server/http2-server";

import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { ListenerAddress, Transport } from "../transport.ts";
import type { RequestDecoderOptions } from "./codec/request-decoder.ts";
import { createCheck, createList, createWatch, type HealthMethodsDeps, HealthWatches } from "./health-methods.ts";
import { exportHttp2Counters } from "./http2-statistics.ts";
import { createReflection, createReflectionStreams, REFLECTION_PATHS } from "./reflection-method.ts";
import { ShouldRateLimit, type ShouldRateLimitDeps } from "./should-rate-limit.ts";

/** Longest request message, in bytes: gRPC's own default. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

/**
 * When a peer is pinged and how long it has to answer, in milliseconds. gRPC's default of two hours
 * keeps dead connections for long.
 */
const KEEPALIVE_TIME_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

/** The names in explanations of failed connections. */
const WORDS: ListenerWords = {
  server: "this service",
  clientAuthority: "GRPC_CLIENT_TLS_CACERT",
  plaintext: "without GRPC_SERVER_USE_TLS=true",
};

export interface GrpcTransportDeps extends Omit<ShouldRateLimitDeps & HealthMethodsDeps, "nowMs"> {
  /** The store of the statistics ratelimit.http2.*. */
  readonly store: StatisticsStore;
}

/** Settings of the transport. */
export interface GrpcTransportOptions {
  /** GRPC_UDS, or GRPC_HOST and GRPC_PORT. Default 0.0.0.0:8081. */
  readonly address: ListenerAddress;
  readonly tls: ListenerTls | undefined;
  /**
   * GRPC_MAX_CONNECTION_AGE: when a connection gets GOAWAY, plus or minus a tenth; 0 = never.
   * Default 24 hours.
   */
  readonly connectionAgeMaxMs: number;
  /**
   * GRPC_MAX_CONNECTION_AGE_GRACE: how long its running calls have then; 0 = no limit. Default 1
   * hour.
   */
  readonly connectionAgeGraceMs: number;
  /** The longest lists of a request that are decoded; longer ones are rejected by the decider. */
  readonly request: RequestDecoderOptions;
}

/** The transport. */
export class GrpcTransport implements Transport {
  readonly name = "gRPC listener";
  readonly #server: Http2Server;
  readonly #listener: ConnectionListener;
  readonly #listenAddress: ListenerAddress;
  readonly #watches: HealthWatches;
  readonly #reflection = createReflectionStreams();
  #address: string | undefined;
  #drained: Promise<void> | undefined;

  constructor(deps: GrpcTransportDeps, options: GrpcTransportOptions) {
    const { turn, log } = deps;
    const nowMs = (): number => performance.now();
    this.#listenAddress = options.address;
    this.#watches = new HealthWatches(deps.health);
    this.#server = new Http2Server(
      {
        methods: this.#methods({ ...deps, nowMs }, options),
        turn: { atTurnEnd: (task) => turn.writeAnswers(task), monotonicMs: () => turn.monotonicMs() },
        random: Math.random,
      },
      {
        messageMaxBytes: MESSAGE_MAX_BYTES,
        keepAliveIntervalMs: KEEPALIVE_TIME_MS,
        keepAliveTimeoutMs: KEEPALIVE_TIMEOUT_MS,
        connectionAgeMs: options.connectionAgeMaxMs || Infinity,
        connectionAgeGraceMs: options.connectionAgeGraceMs || Infinity,
      },
    );
    exportHttp2Counters(this.#server.counters, deps.store);
    this.#listener = new ConnectionListener(
      { log, failed: ({ reason }, peer) => log.debug("A client could not connect to gRPC", { peer, reason }) },
      { what: "gRPC", tls: options.tls, words: WORDS },
      (socket, notHttp2) => this.#server.accept(socket, notHttp2),
    );
  }

  address(): string | undefined {
    return this.#address;
  }

  async start(): Promise<void> {
    const address = this.#listenAddress;
    if (address.kind === "tcp") {
      this.#address = formatAddress(await this.#listener.open({ ...address, setting: "GRPC_PORT", what: "gRPC" }));
      return;
    }
    await this.#listener.openUnix({ ...address, setting: "GRPC_UDS", what: "gRPC" });
    this.#address = `unix:${address.path}`;
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
    void this.#listener.close();
    // Streams without an end, which would keep their connections open.
    this.#watches.end();
    this.#reflection.end();
    await this.#server.drain();
  }

  #methods(deps: ShouldRateLimitDeps & HealthMethodsDeps, { request }: GrpcTransportOptions): Methods {
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
