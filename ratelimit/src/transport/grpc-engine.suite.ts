// Test equipment of the gRPC engines: starts one on a free port, and asks it as a grpc-js client.
import { create } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError as GrpcError, status } from "@grpc/grpc-js";
import { type Log, silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { HealthCheckRequestSchema, Health as HealthService } from "@weir/proto/generated/grpc/health/v1/health_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { Health } from "../health/health.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import type { GrpcStatusName } from "./grpc-status.ts";
import type { GrpcTransportDeps, GrpcTransportOptions } from "./grpc-transport.ts";
import type { Transport } from "./transport.ts";
import { type ClientRequest, NO_TRACING, ScriptedDecider, type TransportAnswer } from "./transport.suite.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const { check: checkMethod } = serviceDefinition(HealthService);

/** An hour in milliseconds: a connection age that no test reaches. */
export const HOUR_MS = 3_600_000;

/** Longest wait for something to happen, in milliseconds. */
export const WAIT = { timeout: 30_000 };

const OPTIONS: GrpcTransportOptions = {
  address: { kind: "tcp", host: "127.0.0.1", port: 0 },
  tls: undefined,
  connectionAgeMaxMs: HOUR_MS,
  connectionAgeGraceMs: HOUR_MS,
};

/** A gRPC engine, by the value of GRPC_ENGINE. */
export interface GrpcEngine {
  readonly name: "weir" | "grpc-js";
  /** Makes one that is not started; `store` is that of the statistics. */
  create(deps: GrpcTransportDeps & { readonly store: StatisticsStore }, options: GrpcTransportOptions): Transport;
}

/** A started engine with its surroundings. */
export interface OpenedEngine {
  readonly transport: Transport;
  readonly health: Health;
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly decider: ScriptedDecider;
  /** The address for clients. */
  readonly target: string;
}

/** Starts an engine. */
export async function openEngine(
  engine: GrpcEngine,
  options: Partial<GrpcTransportOptions> = {},
  decider = new ScriptedDecider(),
  log: Log = silentLog(),
): Promise<OpenedEngine> {
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const statistics = new ServiceStatistics(store);
  const transport = engine.create(
    {
      decider,
      tracing: NO_TRACING,
      health,
      statistics,
      store,
      turn: new TurnEnd(),
      nowMs: () => performance.now(),
      log,
    },
    { ...OPTIONS, ...options },
  );
  await transport.start();
  return { transport, health, store, statistics, decider, target: transport.address() ?? "" };
}

/** Calls ShouldRateLimit. */
export function ask(client: Client, request: ClientRequest, timeoutMs = 30_000): Promise<TransportAnswer> {
  const message = create(RateLimitRequestSchema, request);
  const { path, requestSerialize, responseDeserialize } = shouldRateLimit;
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + timeoutMs };
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      new Metadata(),
      options,
      (error, response) => {
        if (error !== null) resolve(refusalOf(error));
        else resolve(response === undefined ? { kind: "broken" } : { kind: "decision", response });
      },
    );
  });
}

function refusalOf(error: GrpcError): TransportAnswer {
  return { kind: "refused", status: status[error.code] as GrpcStatusName, message: error.details };
}

/** Calls Check; the status of the name, or that of the call with its text. */
export function check(client: Client, service: string): Promise<number | string> {
  const { path, requestSerialize, responseDeserialize } = checkMethod;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      create(HealthCheckRequestSchema, { service }),
      (error, response) => {
        resolve(error === null ? (response?.status ?? "nothing") : `${status[error.code]}: ${error.details}`);
      },
    );
  });
}
