// Starts a gRPC transport on a free port, and asks it as a grpc-js client.
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError as GrpcError,
  status,
} from "@grpc/grpc-js";
import { type Log, silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { HealthCheckRequestSchema, Health as HealthService } from "@weir/proto/generated/grpc/health/v1/health_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach } from "vitest";
import type { GrpcStatusName } from "@weir/http2/grpc/status";

import { Health } from "../../health/health.ts";
import { ServiceStatistics } from "../../statistics/service-statistics.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import {
  type ClientRequest,
  NO_TRACING,
  PLAIN_REQUEST,
  ScriptedDecider,
  type TransportAnswer,
} from "../transport.suite.ts";
import { GrpcTransport, type GrpcTransportOptions } from "./grpc-transport.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const { check: checkMethod } = serviceDefinition(HealthService);

/** The bytes of a request that is decided. */
export const GOOD = Buffer.from(toBinary(RateLimitRequestSchema, create(RateLimitRequestSchema, PLAIN_REQUEST)));

/** Each client has a connection of its own; certificates are for localhost. */
const CHANNEL = { "grpc.use_local_subchannel_pool": 1, "grpc.ssl_target_name_override": "localhost" };

/** An hour in milliseconds: a connection age that no test reaches. */
export const HOUR_MS = 3_600_000;

/** Longest wait for something to happen, in milliseconds. */
export const WAIT = { timeout: 30_000 };

const OPTIONS: GrpcTransportOptions = {
  address: { kind: "tcp", host: "127.0.0.1", port: 0 },
  tls: undefined,
  connectionAgeMaxMs: HOUR_MS,
  connectionAgeGraceMs: HOUR_MS,
  request: { maxDescriptors: 1000, maxEntries: 100 },
};

/** A started transport with its surroundings. */
export interface OpenedTransport {
  readonly transport: GrpcTransport;
  readonly health: Health;
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly decider: ScriptedDecider;
  /** The address for clients. */
  readonly target: string;
}

/** Starts a transport. */
export async function openTransport(
  options: Partial<GrpcTransportOptions> = {},
  decider = new ScriptedDecider(),
  log: Log = silentLog(),
): Promise<OpenedTransport> {
  const health = new Health({ withConfig: false, withActiveConnection: false });
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const statistics = new ServiceStatistics(store);
  const transport = new GrpcTransport(
    {
      decider,
      tracing: NO_TRACING,
      health,
      statistics,
      store,
      turn: new TurnEnd(),
      log,
    },
    { ...OPTIONS, ...options },
  );
  await transport.start();
  return { transport, health, store, statistics, decider, target: transport.address() ?? "" };
}

/** Starts transports and connects clients, which end after each test of the suite that calls it. */
export function useTransport(): {
  readonly closing: (() => unknown)[];
  readonly client: (target: string, channel?: ChannelCredentials) => Client;
  readonly start: (options?: Partial<GrpcTransportOptions>) => Promise<OpenedTransport>;
} {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  const client = (target: string, channel = credentials.createInsecure()): Client => {
    const made = new Client(target, channel, CHANNEL);
    closing.push(() => made.close());
    return made;
  };
  const start = async (options: Partial<GrpcTransportOptions> = {}): Promise<OpenedTransport> => {
    const opened = await openTransport(options);
    closing.push(() => opened.transport.stop());
    return opened;
  };
  return { closing, client, start };
}

/** Calls ShouldRateLimit. */
export async function ask(client: Client, request: ClientRequest, timeoutMs = 30_000): Promise<TransportAnswer> {
  const deadline = Date.now() + timeoutMs;
  const { error, response } = await callUnary(client, shouldRateLimit, create(RateLimitRequestSchema, request), {
    options: { deadline },
  });
  if (error !== null) return { kind: "refused", status: status[error.code] as GrpcStatusName, message: error.details };
  return response === undefined ? { kind: "broken" } : { kind: "decision", response };
}

/** Sends bytes as the message of ShouldRateLimit, or of another method; the code and the text of the answer. */
export async function askWithBytes(
  client: Client,
  bytes: Buffer,
  { path = shouldRateLimit.path, metadata = new Metadata() } = {},
): Promise<string> {
  const asIs = (message: Buffer): Buffer => message;
  const options = { deadline: Date.now() + 30_000 };
  const method = { path, requestSerialize: asIs, responseDeserialize: asIs };
  const { error } = await callUnary(client, method, bytes, { metadata, options });
  return error === null ? "OK" : `${status[error.code]}: ${error.details}`;
}

/** Calls Check; the status of the name, or that of the call with its text. */
export async function check(client: Client, service: string): Promise<number | string> {
  const { error, response } = await callUnary(client, checkMethod, create(HealthCheckRequestSchema, { service }));
  return error === null ? (response?.status ?? "nothing") : `${status[error.code]}: ${error.details}`;
}

/** Calls a method. */
export function callUnary<Request, Response>(
  client: Client,
  method: Pick<MethodDefinition<Request, Response>, "path" | "requestSerialize" | "responseDeserialize">,
  message: Request,
  { metadata = new Metadata(), options = {} }: { readonly metadata?: Metadata; readonly options?: CallOptions } = {},
): Promise<{ readonly error: GrpcError | null; readonly response: Response | undefined }> {
  const { path, requestSerialize, responseDeserialize } = method;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      metadata,
      options,
      (error, response) => resolve({ error, response }),
    );
  });
}
