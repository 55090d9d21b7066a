// Serves gRPC with @grpc/grpc-js: ShouldRateLimit, health and reflection. Requests go to the decider
// as they were decoded.
import type { Socket } from "node:net";

import { type handleUnaryCall, Server, ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import { Health as HealthService } from "@weir/proto/generated/grpc/health/v1/health_pb";
import {
  type RateLimitRequest,
  type RateLimitResponse,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import {
  GrpcListener,
  type GrpcTransportDeps,
  type GrpcTransportOptions,
  KEEPALIVE_TIME_MS,
  KEEPALIVE_TIMEOUT_MS,
  MESSAGE_MAX_BYTES,
} from "../grpc-transport.ts";
import { ResponseTimes } from "../response-times.ts";
import { decideTraced } from "../traced-call.ts";
import type { Transport } from "../transport.ts";
import { GrpcCall } from "./grpc-call.ts";
import { createHealthHandlers, type HealthHandlers } from "./health-service.ts";
import { createReflectionService, type ReflectionService } from "./reflection-service.ts";

/** Most calls that one connection may have open; Envoy keeps one connection per worker thread. */
const STREAMS_MAX = 100_000;

/**
 * A connection that is silent for so long is dead: not even a ping was answered. The library closes
 * dead connections by itself, except those that Node 26 loses track of: when the client of a TLS
 * connection resets it while an answer is written, session and socket may stay open indefinitely.
 */
const SILENT_MAX_MS = KEEPALIVE_TIME_MS + KEEPALIVE_TIMEOUT_MS;
const SILENCE_CHECK_MS = SILENT_MAX_MS / 2;

/** No limit, for the library, in milliseconds. */
const UNLIMITED_MS = 2 ** 31 - 1;

/** The transport. */
export class GrpcJsTransport implements Transport {
  readonly name = "gRPC listener";
  readonly #server: Server;
  readonly #listener: GrpcListener;
  readonly #health: HealthHandlers;
  readonly #reflection: ReflectionService = createReflectionService();
  /** Each with the bytes that it had received at the last change, and its time. */
  readonly #sockets = new Map<Socket, { bytesRead: number; atMs: number }>();
  readonly #nowMs: () => number;
  readonly #log: Log;
  #silenceTimer: NodeJS.Timeout | undefined;
  /** Resolved when the last connection is gone, once a drain waits for it. */
  readonly #emptied = Promise.withResolvers<void>();
  #drained: Promise<void> | undefined;

  constructor(deps: GrpcTransportDeps, options: GrpcTransportOptions) {
    this.#nowMs = deps.nowMs;
    this.#log = deps.log;
    this.#server = new Server(serverOptions(options));
    this.#health = createHealthHandlers(deps);
    this.#server.addService(serviceDefinition(HealthService), this.#health.handlers);
    this.#server.addService(serviceDefinition(RateLimitService), { shouldRateLimit: createShouldRateLimit(deps) });
    for (const definition of this.#reflection.definitions)
      this.#server.addService(definition, this.#reflection.handlers);
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#listener = new GrpcListener(deps, options, (socket) => {
      this.#sockets.set(socket, { bytesRead: 0, atMs: this.#nowMs() });
      socket.once("close", () => this.#forget(socket));
      injector.injectConnection(socket);
    });
  }

  address(): string | undefined {
    return this.#listener.address();
  }

  async start(): Promise<void> {
    await this.#listener.open();
    this.#silenceTimer = setInterval(() => this.#closeSilent(), SILENCE_CHECK_MS).unref();
  }

  drain(): Promise<void> {
    this.#drained ??= this.#drainOnce();
    return this.#drained;
  }

  async stop(): Promise<void> {
    const drained = this.drain();
    this.#server.forceShutdown();
    for (const socket of this.#sockets.keys()) socket.destroy();
    // A session whose client vanished in the middle of a message never reports its end to the
    // library. It has ended when its connection is gone.
    await Promise.race([drained, this.#untilEmpty()]);
    clearInterval(this.#silenceTimer);
  }

  async #drainOnce(): Promise<void> {
    this.#listener.close();
    // Streams without an end, which would keep their connections open.
    this.#health.endWatches();
    this.#reflection.end();
    await new Promise((resolve) => this.#server.tryShutdown(resolve));
    await this.#untilEmpty(); // The library does not wait for connections that were injected.
  }

  async #untilEmpty(): Promise<void> {
    if (this.#sockets.size > 0) await this.#emptied.promise;
  }

  #closeSilent(): void {
    const nowMs = this.#nowMs();
    for (const [socket, seen] of this.#sockets) {
      if (socket.bytesRead !== seen.bytesRead) {
        seen.bytesRead = socket.bytesRead;
        seen.atMs = nowMs;
      } else if (nowMs - seen.atMs > SILENT_MAX_MS) {
        this.#log.debug("Closed a silent gRPC connection, not even pings were answered", {
          forMs: SILENT_MAX_MS,
        });
        socket.destroy();
      }
    }
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket);
    if (this.#sockets.size === 0 && this.#drained !== undefined) this.#emptied.resolve();
  }
}

function createShouldRateLimit(deps: GrpcTransportDeps): handleUnaryCall<RateLimitRequest, RateLimitResponse> {
  const method = deps.statistics.method("ShouldRateLimit");
  const times = new ResponseTimes(method.responseTime, deps);
  return (call, callback) => {
    method.totalRequests.add(1);
    decideTraced(deps, call.request, new GrpcCall(call, callback, times, deps.log), "grpc");
  };
}

function serverOptions(options: GrpcTransportOptions): ServerOptions {
  return {
    "grpc.max_receive_message_length": MESSAGE_MAX_BYTES,
    "grpc.max_concurrent_streams": STREAMS_MAX,
    "grpc.max_connection_age_ms": options.connectionAgeMaxMs || UNLIMITED_MS, // The library adds the jitter of a tenth itself.
    "grpc.max_connection_age_grace_ms": options.connectionAgeGraceMs || UNLIMITED_MS,
    "grpc.keepalive_time_ms": KEEPALIVE_TIME_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.enable_channelz": 0, // Nothing reads its records of every call.
  };
}
