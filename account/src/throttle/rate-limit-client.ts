// Asks a rate limit service over gRPC: Envoy's ShouldRateLimit. The only file that knows the protocol.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError as GrpcError,
  status,
} from "@grpc/grpc-js";
import { callReason } from "@weir/common/grpc/call-reason";
import { openTlsChannel } from "@weir/common/grpc/tls-channel";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitResponse_Code as Code,
  type RateLimitResponse_DescriptorStatus as DescriptorStatus,
  RateLimitResponse_RateLimit_Unit as Unit,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RateLimitError } from "./rate-limit-error.ts";
import type { LimitCheck, LimitDecision, LimitHeaders } from "./limits.ts";

/** Largest answer, in bytes: three descriptors take a few hundred. */
const ANSWER_MAX_BYTES = 64 * 1024;

/**
 * Silence before a ping, and the longest wait for its answer, in milliseconds. Go servers end
 * connections that ping more often than every five minutes.
 */
const KEEPALIVE = { timeMs: 310_000, timeoutMs: 20_000 };

/** Pause between attempts to connect, in milliseconds: a service that restarts is found soon. */
const RECONNECT = { firstMs: 200, maxMs: 5000 };

/** Without calls a connection stays open: opening one takes longer than a call may. Largest value of gRPC. */
const IDLE_NEVER_MS = 2_147_483_647;

/** The service's pods behind one name share the calls, with a connection to each. */
const SERVICE_CONFIG = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });

const CHANNEL_OPTIONS: ChannelOptions = {
  "grpc.service_config": SERVICE_CONFIG,
  "grpc.service_config_disable_resolution": 1,
  "grpc.max_receive_message_length": ANSWER_MAX_BYTES,
  "grpc.keepalive_time_ms": KEEPALIVE.timeMs,
  "grpc.keepalive_timeout_ms": KEEPALIVE.timeoutMs,
  "grpc.initial_reconnect_backoff_ms": RECONNECT.firstMs,
  "grpc.max_reconnect_backoff_ms": RECONNECT.maxMs,
  "grpc.client_idle_timeout_ms": IDLE_NEVER_MS,
  "grpc.use_local_subchannel_pool": 1, // So that a new client has new connections.
  "grpc.enable_retries": 0,
  "grpc.enable_channelz": 0,
};

/** Headers of the service that are passed on: those of limits, and nothing that could set a cookie. */
const LIMIT_HEADER = /^(x-)?ratelimit-[a-z-]+$/i;

/** Seconds of each unit, for servers that do not say when a window ends. */
const UNIT_SECONDS: Readonly<Record<number, number>> = {
  [Unit.SECOND]: 1,
  [Unit.MINUTE]: 60,
  [Unit.HOUR]: 3600,
  [Unit.DAY]: 86_400,
  [Unit.WEEK]: 604_800,
  [Unit.MONTH]: 2_592_000,
  [Unit.YEAR]: 31_536_000,
};

/** The value of `limit_remaining` for a rule with `unlimited: true`, which has no `current_limit`. */
const UNLIMITED_REMAINING = 0xffff_ffff;

/** The address of the service, and how it is asked. */
export interface RateLimitClientOptions {
  /** `host:port`, `[address]:port` or `unix:/path`. */
  readonly target: string;
  readonly domain: string;
  readonly timeoutMs: number;
  /** Undefined: plain text. */
  readonly tls: { readonly paths: TlsFilePaths; readonly serverName: string | undefined } | undefined;
}

/** An answer of the service. */
export interface RateLimitAnswer {
  readonly decision: LimitDecision;
  /** The keys of the check for which the service has no rule. */
  readonly unknownKeys: readonly string[];
}

/** A client of the service. It connects when it is opened, and again whenever a connection is lost. */
export class RateLimitClient {
  readonly #options: RateLimitClientOptions;
  readonly #clock: () => number;
  #client: Client | undefined;
  #isClosed = false;

  constructor({ clock }: { readonly clock: () => number }, options: RateLimitClientOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * Begins to connect, and drops earlier connections; does nothing after `close`. Throws
   * TLS_FILE_INVALID when the files are invalid, and then keeps the earlier connections.
   */
  connect(): void {
    if (this.#isClosed) return;
    const { target, tls } = this.#options;
    const channel = tls === undefined ? undefined : openTlsChannel(target, tls.paths, tls.serverName);
    const options = { ...CHANNEL_OPTIONS, ...channel?.options };
    const earlier = this.#client;
    this.#client = new Client(target, channel?.credentials ?? credentials.createInsecure(), options);
    this.#client.getChannel().getConnectivityState(true);
    earlier?.close();
  }

  /** Drops the connections; calls fail from then on. */
  close(): void {
    this.#isClosed = true;
    this.#client?.close();
    this.#client = undefined;
  }

  /** Asks about one check. Rejects with a RateLimitError without an answer in time. */
  async ask(check: LimitCheck): Promise<RateLimitAnswer> {
    const response = await this.#call(requestOf(this.#options.domain, check));
    const isAnswered =
      (response.overallCode === Code.OK || response.overallCode === Code.OVER_LIMIT) &&
      response.statuses.length === check.entries.length;
    if (!isAnswered) throw new RateLimitError("invalid", "The rate limit service did not decide about each descriptor");
    return {
      decision: decisionOf(response, check, this.#clock()),
      unknownKeys: check.entries.filter((_, index) => !isKnown(response.statuses[index])).map(({ key }) => key),
    };
  }

  #call(request: MessageInitShape<typeof RateLimitRequestSchema>): Promise<RateLimitResponse> {
    const client = this.#client;
    if (client === undefined) throw new RateLimitError("unavailable", "The client of the rate limit service is closed");
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
    const { promise, resolve, reject } = Promise.withResolvers<RateLimitResponse>();
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      create(RateLimitRequestSchema, request),
      new Metadata(),
      { deadline: Date.now() + this.#options.timeoutMs }, // grpc-js compares it with this clock.
      (error: GrpcError | null, response?: RateLimitResponse) => {
        if (response === undefined) reject(toRateLimitError(error));
        else resolve(response);
      },
    );
    return promise;
  }
}

function requestOf(domain: string, { route, entries }: LimitCheck): MessageInitShape<typeof RateLimitRequestSchema> {
  return { domain, descriptors: entries.map((entry) => ({ entries: [{ key: "route", value: route }, entry] })) };
}

function decisionOf(response: RateLimitResponse, { entries }: LimitCheck, nowMs: number): LimitDecision {
  const headers: LimitHeaders = response.responseHeadersToAdd
    .filter(({ key, value }) => LIMIT_HEADER.test(key) && /^[\x20-\x7e]*$/.test(value))
    .map(({ key, value }) => [key, value]);
  if (response.overallCode === Code.OK) return { isAllowed: true, headers };
  const over = response.statuses
    .map((descriptor, index) => ({ descriptor, key: entries[index]?.key ?? "ip" }))
    .filter(({ descriptor }) => descriptor.code === Code.OVER_LIMIT)
    .map(({ descriptor, key }) => ({ key, seconds: secondsLeft(descriptor, nowMs) }))
    .toSorted((a, b) => b.seconds - a.seconds);
  const [longest = { key: entries[0]?.key ?? "ip", seconds: 1 }] = over;
  return { isAllowed: false, key: longest.key, retryAfterSeconds: longest.seconds, headers };
}

/** Returns true if the service has a rule for the descriptor. */
function isKnown(descriptor: DescriptorStatus | undefined): boolean {
  return descriptor?.currentLimit !== undefined || descriptor?.limitRemaining === UNLIMITED_REMAINING;
}

/** Whole seconds until the window ends, at least 1. */
function secondsLeft({ durationUntilReset, currentLimit }: DescriptorStatus, nowMs: number): number {
  if (durationUntilReset !== undefined)
    return Math.max(1, Number(durationUntilReset.seconds) + (durationUntilReset.nanos > 0 ? 1 : 0));
  const unitSeconds = UNIT_SECONDS[currentLimit?.unit ?? Unit.UNKNOWN] ?? 1;
  return Math.max(1, Math.ceil(unitSeconds - ((nowMs / 1000) % unitSeconds)));
}

function toRateLimitError(error: GrpcError | null): RateLimitError {
  if (error === null) return new RateLimitError("invalid", "The rate limit service answered without a message");
  const reason = { [status.DEADLINE_EXCEEDED]: "deadline", [status.UNAVAILABLE]: "unavailable" } as const;
  const kind = error.code in reason ? reason[error.code as keyof typeof reason] : "error";
  return new RateLimitError(kind, `Cannot ask the rate limit service: ${callReason(error)}`, error);
}
