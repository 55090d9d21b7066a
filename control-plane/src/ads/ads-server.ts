// The gRPC listener for pods: access, keepalive, and the life of streams. stream/pod-stream.ts
// speaks the protocol on each stream.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { ConnectionListener } from "@weir/common/net/connection-listener";
import { CONNECTION_FAILURES } from "@weir/common/net/handshake-failure";
import type { ListenAddress } from "@weir/common/net/listen";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { libraryMethod } from "@weir/http2/grpc/library-messages";
import { MessageQueue } from "@weir/http2/grpc/message-queue";
import type {
  Methods,
  StreamingCall,
  StreamingMethod,
  StreamingReceiver,
  Turn,
  UnaryCall,
  UnaryMethod,
} from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";
import { Http2Server } from "@weir/http2/server/http2-server";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { ObserveService } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { ObserveHub } from "../observe/observe-hub.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import { tailEncoder } from "../snapshot/response-bytes.ts";
import { AdsAccess, type PodAccess } from "./ads-access.ts";
import { type AdsPeer, peerOf } from "./ads-peer.ts";
import type { AdsSecurity, CallRefusal } from "./ads-security.ts";
import { type ConnectionLife, drainDelaysMs, FIRST_REQUEST_MAX_MS, limitsOf } from "./connection-life.ts";
import { createAdsListener } from "./connection-listener.ts";
import { ConnectionPods } from "./connection-pods.ts";
import { OpenStreams, type StreamBounds, streamIdentity } from "./open-streams.ts";
import { PodCall } from "./pod-call.ts";
import { identityOf } from "./stream/node-identity.ts";
import { type PodChannel, PodStream } from "./stream/pod-stream.ts";
import { isRateLimitConfig, type StreamKind } from "./stream/request-violation.ts";
import { SendSemaphore } from "./stream/send-semaphore.ts";

/** Shortest time between two warnings of the same kind, in milliseconds: clients cause them. */
const WARNING_INTERVAL_MS = 1000;

/** How long a stop waits for clients to read the end of their streams, in milliseconds. */
const STOP_GRACE_MS = 1000;

/** Address, bounds and identity of the listener. */
export interface AdsServerOptions extends ConnectionLife, StreamBounds {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The name of the replica, for clients. */
  readonly identifier: string;
  readonly handshakeTimeoutMs?: number;
  readonly snapshotMaxBytes: number;
}

const CALL_REFUSALS = [
  "name-not-allowed",
  "fleet-not-allowed",
  "too-many-streams",
  "too-many-streams-of-identity",
  "no-request",
] as const;

/** Why a client is refused: no connection, access is denied, too many streams, or the client is silent. */
export const ADS_REFUSALS = [...CONNECTION_FAILURES, ...CALL_REFUSALS] as const;

/** One of {@link ADS_REFUSALS}. */
export type AdsRefusal = (typeof ADS_REFUSALS)[number];

export interface AdsServerDeps {
  readonly log: Log;
  readonly security: AdsSecurity;
  readonly publisher: Pick<Publisher, "snapshotFor" | "revisionsOf" | "onPublished">;
  readonly pods: PodRegistry;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called for each refused client, with the reason. */
  readonly refused?: (reason: AdsRefusal) => void;
  /** Takes what pods report that they count; undefined: the method for it is not offered. */
  readonly observations?: ObserveHub;
  /** Further methods by path, for reports. */
  readonly reports?: ReadonlyMap<string, UnaryMethod>;
}

const { streamAggregatedResources, deltaAggregatedResources } = serviceDefinition(AggregatedDiscoveryService);
const { streamRlsConfigs, fetchRlsConfigs } = serviceDefinition(RateLimitConfigDiscoveryService);

const { observe } = serviceDefinition(ObserveService);

const OTHER_TYPE = {
  code: GrpcStatus.INVALID_ARGUMENT,
  details: `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing here`,
};
const TOO_MANY_OBSERVATIONS = {
  code: GrpcStatus.RESOURCE_EXHAUSTED,
  details: "this connection has its maximum of streams of observations",
};
const NOTHING_ACTIVE = { code: GrpcStatus.UNAVAILABLE, details: "no configuration is active yet, ask again" };
const SHUTTING_DOWN = {
  code: GrpcStatus.UNAVAILABLE,
  details: "the control plane is shutting down, connect again",
};

/** Receives nothing: of a call that is refused. */
const REFUSED: StreamingReceiver = { message: () => {}, halfClosed: () => {}, cancelled: () => {} };

/** The listener; it opens at start. */
export class AdsServer implements Part {
  readonly name = "ADS listener";
  readonly #deps: AdsServerDeps;
  readonly #options: AdsServerOptions;
  readonly #http2: Http2Server;
  readonly #listener: ConnectionListener;
  readonly #warnings: RateLimitedLog;
  readonly #access: AdsAccess;
  readonly #semaphore = new SendSemaphore();
  readonly #open: OpenStreams<PodCall>;
  readonly #drainTimers = new Set<NodeJS.Timeout>();
  #address: ListenAddress | undefined;
  #unsubscribe: () => void = () => undefined;
  #isStopping = false;

  constructor(deps: AdsServerDeps, options: AdsServerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#warnings = new RateLimitedLog(deps.log, {
      intervalMs: WARNING_INTERVAL_MS,
      monotonicMs: () => performance.now(),
    });
    const refusals = { warnings: this.#warnings, refused: (reason: AdsRefusal) => deps.refused?.(reason) };
    this.#access = new AdsAccess({ security: deps.security, ...refusals });
    this.#open = new OpenStreams(refusals, options);
    // Every connection has methods of its own, which know its client.
    this.#http2 = new Http2Server({ methods: new Map(), turn: createTurn(), random: Math.random }, limitsOf(options));
    this.#listener = createAdsListener(
      { log: deps.log, warnings: this.#warnings, failed: ({ kind }) => deps.refused?.(kind) },
      { security: deps.security, handshakeTimeoutMs: options.handshakeTimeoutMs },
      (socket, notHttp2) => this.#http2.accept(socket, notHttp2, this.#methodsFor(peerOf(socket))),
    );
  }

  async start(): Promise<void> {
    this.#address = await this.#listener.open({
      host: this.#options.host,
      port: this.#options.port,
      setting: "ADS_PORT",
      what: "ADS",
    });
    this.#unsubscribe = this.#deps.publisher.onPublished(() => {
      for (const { stream } of this.#open.list()) stream.published();
    });
  }

  /** Ends the open streams one after the other within this time, in milliseconds. */
  drain(overMs: number): void {
    const calls = this.#open.list();
    const delaysMs = drainDelaysMs(calls.length, overMs);
    calls.forEach((call, index) => {
      this.#drainTimers.add(setTimeout(() => call.leave(SHUTTING_DOWN), delaysMs[index]));
    });
  }

  /** Ends every stream with UNAVAILABLE, then the listener. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#drainTimers) clearTimeout(timer);
    this.#unsubscribe();
    const closed = this.#listener.close();
    for (const call of this.#open.list()) call.leave(SHUTTING_DOWN);
    const drained = this.#http2.drain();
    const timer = setTimeout(() => {
      this.#http2.close();
      this.#listener.cut();
    }, STOP_GRACE_MS);
    await Promise.all([closed, drained]);
    clearTimeout(timer);
  }

  /** The address it listens on, once started. */
  address(): ListenAddress | undefined {
    return this.#address;
  }

  /** Number of open streams. */
  streams(): number {
    return this.#open.size;
  }

  /** The methods for one client. The incremental one for this type alone is not offered: it gets UNIMPLEMENTED. */
  #methodsFor(peer: AdsPeer): Methods {
    const pods = new ConnectionPods();
    const streaming = (kind: StreamKind): StreamingMethod => ({
      kind: "streaming",
      open: (call) => this.#accept(call, peer, { kind, pods }),
    });
    const { observations: hub } = this.#deps;
    const observing: StreamingMethod = { kind: "streaming", open: (call) => this.#observe(call, pods, hub) };
    return new Map<string, UnaryMethod | StreamingMethod>([
      [streamAggregatedResources.path, streaming("aggregated")],
      [deltaAggregatedResources.path, streaming("delta")],
      [streamRlsConfigs.path, streaming("single-type")],
      [
        fetchRlsConfigs.path,
        libraryMethod(DiscoveryRequestSchema, (call, request) => this.#fetch(call, peer, request)),
      ],
      ...(hub === undefined ? [] : [[observe.path, observing] as const]),
      ...[...(this.#deps.reports ?? [])].map(([path, method]) => [path, this.#guard(method, peer)] as const),
    ]);
  }

  /** One answer with the active snapshot; the pod appears in no report. */
  #fetch(call: UnaryCall, peer: AdsPeer, { node, typeUrl }: DiscoveryRequest): void {
    const access = this.#admit(peer);
    const denied = access.refusal ?? this.#access.refuseNode(peer, access, node);
    const refusal = denied ?? (isRateLimitConfig(typeUrl) ? undefined : OTHER_TYPE);
    const snapshot = this.#deps.publisher.snapshotFor(identityOf(node, access.granted).fleet);
    if (refusal !== undefined) call.fail(refusal.code, refusal.details);
    else if (snapshot === undefined) call.fail(NOTHING_ACTIVE.code, NOTHING_ACTIVE.details);
    else {
      const messages = new MessageQueue((receiver) => call.stream(receiver));
      messages.send([...snapshot.pieces(), tailEncoder(this.#options.identifier)(1)]);
      messages.end(GrpcStatus.OK, "");
    }
  }

  /** Its pod was admitted with its discovery stream. */
  #observe(call: StreamingCall, pods: ConnectionPods, hub: ObserveHub | undefined): StreamingReceiver {
    const firstMessageMaxMs = this.#options.firstRequestMaxMs ?? FIRST_REQUEST_MAX_MS;
    const { clock } = this.#deps;
    const taken = hub && pods.observe(call, { hub, clock, firstMessageMaxMs, warnings: this.#warnings });
    return taken ?? refuse(call, TOO_MANY_OBSERVATIONS);
  }

  #accept(
    call: StreamingCall,
    peer: AdsPeer,
    { kind, pods }: { readonly kind: StreamKind; readonly pods: ConnectionPods },
  ): StreamingReceiver {
    const access = this.#admit(peer);
    const identity = streamIdentity(peer, access.granted);
    const refusal = access.refusal ?? this.#open.refuseOf(peer, identity);
    if (refusal !== undefined) return refuse(call, refusal);
    const podCall = new PodCall(
      call,
      {
        createStream: (channel) => this.#createStream(channel, kind, access),
        refuseNode: (node) => this.#access.refuseNode(peer, access, node),
        warnings: this.#warnings,
        silent: () => this.#deps.refused?.("no-request"),
        closed: (closed) => {
          this.#open.remove(closed);
          pods.remove(closed);
        },
      },
      { peer: peer.address, kind, firstRequestMaxMs: this.#options.firstRequestMaxMs ?? FIRST_REQUEST_MAX_MS },
    );
    this.#open.add(podCall, identity);
    pods.add(podCall);
    return podCall;
  }

  #createStream(channel: PodChannel, kind: StreamKind, { granted }: PodAccess): PodStream {
    const { publisher, pods, clock, log } = this.#deps;
    const { identifier, snapshotMaxBytes, heartbeat } = this.#options;
    return new PodStream(
      { channel, publisher, pods, clock, semaphore: this.#semaphore, log },
      { identifier, kind, snapshotMaxBytes, heartbeat, granted },
    );
  }

  #admit(peer: AdsPeer): PodAccess {
    const refusal = this.#refusalFor(peer);
    return refusal === undefined ? this.#access.admitPod(peer) : { refusal };
  }

  /** Applies the rules of access to a further method. */
  #guard(method: UnaryMethod, peer: AdsPeer): UnaryMethod {
    return {
      kind: "unary",
      handle: (call, bytes, start, end) => {
        const refusal = this.#refusalFor(peer) ?? this.#access.refuseReports(peer);
        if (refusal === undefined) method.handle(call, bytes, start, end);
        else call.fail(refusal.code, refusal.details);
      },
    };
  }

  #refusalFor(peer: AdsPeer): CallRefusal | undefined {
    return this.#isStopping ? SHUTTING_DOWN : this.#open.refuseAny(peer);
  }
}

function refuse(call: StreamingCall, { code, details }: CallRefusal): StreamingReceiver {
  call.end(code, details);
  call.reset();
  return REFUSED;
}

function createTurn(): Turn {
  const turn = new TurnEnd();
  return {
    atTurnEnd: (task) => turn.writeAnswers(task),
    monotonicMs: () => performance.now(),
  };
}
