// The gRPC listener for pods: access, keepalive, and the life of streams. stream/pod-stream.ts
// speaks the protocol on each stream.
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  status,
  type UntypedHandleCall,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { ConnectionListener } from "@weir/common/net/connection-listener";
import { CONNECTION_FAILURES } from "@weir/common/net/handshake-failure";
import type { ListenAddress } from "@weir/common/net/listen";
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { PodRegistry } from "../pods/pod-registry.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import { encodeTail } from "../snapshot/response-bytes.ts";
import { AdsAccess, type PodAccess } from "./ads-access.ts";
import type { AdsSecurity, CallRefusal } from "./ads-security.ts";
import { type ConnectionLife, drainDelaysMs, FIRST_REQUEST_MAX_MS, serverOptionsOf } from "./connection-life.ts";
import { createAdsListener } from "./connection-listener.ts";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { OpenStreams, type StreamBounds, streamIdentity } from "./open-streams.ts";
import { peerOf } from "./peer-address.ts";
import { AGGREGATED, type GrpcService, SINGLE_TYPE } from "./services.ts";
import { chunkedWriter } from "./stream/chunked-writer.ts";
import { identityOf } from "./stream/node-identity.ts";
import { isRateLimitConfig, PodStream, type StreamKind } from "./stream/pod-stream.ts";
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

/** What the listener works with. */
export interface AdsServerDeps {
  readonly log: Log;
  readonly security: AdsSecurity;
  readonly publisher: Pick<Publisher, "snapshotFor" | "formsOf" | "onPublished">;
  readonly pods: PodRegistry;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called for each refused client, with the reason. */
  readonly refused?: (reason: AdsRefusal) => void;
  /** Further services, for reports. */
  readonly services?: readonly GrpcService[];
}

/** A stream in grpc-js: responses are serialised already. */
type Call = ServerDuplexStream<DiscoveryRequest, Buffer>;

/** A call with one response. */
type UnaryCall = ServerUnaryCall<DiscoveryRequest, Buffer>;

/** Any call, as far as access matters. */
type AnyCall = Pick<Call, "getPeer" | "getAuthContext" | "emit">;

/** A handler of any kind: only that of a unary call gets `answer`. */
type GuardedHandler = (call: AnyCall, answer: sendUnaryData<unknown> | undefined) => void;

const OTHER_TYPE = {
  code: status.INVALID_ARGUMENT,
  details: `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing here`,
};
const NOTHING_ACTIVE = { code: status.UNAVAILABLE, details: "no configuration is active yet, ask again" };
const SHUTTING_DOWN = { code: status.UNAVAILABLE, details: "the control plane is shutting down, connect again" };

/** The listener; it opens at start. */
export class AdsServer implements Part {
  readonly name = "ADS listener";
  readonly #deps: AdsServerDeps;
  readonly #options: AdsServerOptions;
  readonly #server: Server;
  readonly #listener: ConnectionListener;
  readonly #warnings: RateLimitedLog;
  readonly #access: AdsAccess;
  readonly #semaphore = new SendSemaphore();
  readonly #open: OpenStreams<Call, PodStream>;
  /** The timers of a drain. */
  readonly #drainTimers = new Set<NodeJS.Timeout>();
  #address: ListenAddress | undefined;
  #unsubscribe: () => void = () => undefined;
  #isStopping = false;

  constructor(deps: AdsServerDeps, options: AdsServerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#server = new Server(serverOptionsOf(options));
    // The incremental methods are not offered: grpc-js answers UNIMPLEMENTED for them.
    this.#server.addService(AGGREGATED, {
      streamAggregatedResources: (call: Call) => this.#accept(call, "aggregated"),
    });
    this.#server.addService(SINGLE_TYPE, {
      streamRlsConfigs: (call: Call) => this.#accept(call, "single-type"),
      fetchRlsConfigs: (call: UnaryCall, answer: sendUnaryData<Buffer>) => this.#fetch(call, answer),
    });
    for (const { definition, implementation } of deps.services ?? [])
      this.#server.addService(definition, this.#guard(implementation));
    // Connections are opened here and injected: grpc-js 1.14 reports no failed handshake and takes
    // any number of connections.
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#warnings = new RateLimitedLog(deps.log, { intervalMs: WARNING_INTERVAL_MS, clock: () => performance.now() });
    const refusals = { warnings: this.#warnings, refused: (reason: AdsRefusal) => deps.refused?.(reason) };
    this.#access = new AdsAccess({ security: deps.security, ...refusals });
    this.#open = new OpenStreams(refusals, options);
    this.#listener = createAdsListener(
      { log: deps.log, warnings: this.#warnings, failed: ({ kind }) => deps.refused?.(kind) },
      { security: deps.security, handshakeTimeoutMs: options.handshakeTimeoutMs },
      (socket) => injector.injectConnection(socket),
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
      for (const stream of this.#open.streams()) stream.published();
    });
  }

  /** Ends the open streams one after the other within this time, in milliseconds. */
  drain(overMs: number): void {
    const calls = this.#open.calls();
    const delaysMs = drainDelaysMs(calls.length, overMs);
    calls.forEach((call, index) => {
      const end = (): unknown => this.#open.has(call) && refuse(call, SHUTTING_DOWN);
      this.#drainTimers.add(setTimeout(end, delaysMs[index]));
    });
  }

  /** Ends every stream with UNAVAILABLE, then the listener. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#drainTimers) clearTimeout(timer);
    this.#unsubscribe();
    const closed = this.#listener.close();
    for (const call of this.#open.calls()) refuse(call, SHUTTING_DOWN);
    const timer = setTimeout(() => {
      this.#server.forceShutdown();
      this.#listener.cut();
    }, STOP_GRACE_MS);
    // Does not wait for data on injected connections to be sent; closing the listener does.
    this.#server.tryShutdown(() => undefined);
    await closed;
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

  /** One answer with the active snapshot; the pod appears in no report. */
  #fetch(call: UnaryCall, answer: sendUnaryData<Buffer>): void {
    const { node, typeUrl } = call.request;
    const access = this.#admit(call);
    const denied = access.refusal ?? this.#access.refuseNode(call, access, node);
    const refusal = denied ?? (isRateLimitConfig(typeUrl) ? undefined : OTHER_TYPE);
    const snapshot = this.#deps.publisher.snapshotFor(identityOf(node, access.granted).fleet);
    if (refusal !== undefined) answer(refusal);
    else if (snapshot === undefined) answer(NOTHING_ACTIVE);
    else {
      const tail = encodeTail({ nonce: "1", identifier: this.#options.identifier });
      answer(null, Buffer.concat([...snapshot.pieces(), tail]));
    }
  }

  #accept(call: Call, kind: StreamKind): void {
    // Without a listener an error event would end the process; the end of the stream reports it.
    call.on("error", (error) => this.#deps.log.debug("An ADS stream failed", { peer: peerOf(call), error }));
    const access = this.#admit(call);
    const identity = streamIdentity(call, access.granted);
    const refusal = access.refusal ?? this.#open.refuseOf(call, identity);
    if (refusal !== undefined) {
      refuse(call, refusal);
      return;
    }
    const { publisher, pods, clock, log } = this.#deps;
    const peer = peerOf(call);
    const hung = (waitedMs: number): void => {
      ended();
      this.#warnings.warn("Ended an ADS stream, the pod hangs", { pod: stream.podName(), peer, waitedMs });
      refuse(call, { code: status.DEADLINE_EXCEEDED, details: `nothing came within ${waitedMs} ms` });
    };
    const channel = { peer, send: chunkedWriter(call), hung };
    const { identifier, snapshotMaxBytes, heartbeat } = this.#options;
    const stream = new PodStream(
      { channel, publisher, pods, clock, semaphore: this.#semaphore, log },
      { identifier, kind, snapshotMaxBytes, heartbeat, granted: access.granted },
    );
    this.#open.add(call, stream, identity);
    const ended = (): void => {
      clearTimeout(timer);
      this.#open.remove(call);
      stream.ended();
    };
    const maxMs = this.#options.firstRequestMaxMs ?? FIRST_REQUEST_MAX_MS;
    const timer = setTimeout(() => {
      ended();
      this.#deps.refused?.("no-request");
      this.#warnings.warn("Ended an ADS stream, the client sent no request", { peer, waitedMs: maxMs });
      refuse(call, { code: status.DEADLINE_EXCEEDED, details: `no request came within ${maxMs} ms` });
    }, maxMs);
    call.on("data", (request: DiscoveryRequest) => {
      clearTimeout(timer);
      const denied = this.#access.refuseNode(call, access, request.node);
      if (denied === undefined) {
        this.#receive(call, stream, request);
        return;
      }
      ended(); // Before further requests of the client.
      refuse(call, denied);
    });
    call.on("end", () => stream.halfClosed(() => call.end()));
    for (const event of ["cancelled", "close", "finish"]) call.on(event, ended);
  }

  #admit(call: AnyCall): PodAccess {
    const refusal = this.#refusalFor(call);
    return refusal === undefined ? this.#access.admitPod(call) : { refusal };
  }

  #receive(call: Call, stream: PodStream, request: DiscoveryRequest): void {
    const violation = stream.receive(request);
    if (violation === undefined) return;
    this.#warnings.warn("Ended an ADS stream, the client violated the protocol", {
      pod: stream.podName(),
      peer: peerOf(call),
      text: violation,
    });
    refuse(call, { code: status.INVALID_ARGUMENT, details: violation });
  }

  /** Applies the rules of access to the methods of a further service. */
  #guard(implementation: UntypedServiceImplementation): UntypedServiceImplementation {
    const guarded = Object.entries(implementation).map(([method, handle]) => {
      const guard = (call: AnyCall, answer?: sendUnaryData<unknown>): void => {
        const refusal = this.#refusalFor(call) ?? this.#access.refuseReports(call);
        if (refusal === undefined) (handle as GuardedHandler)(call, answer);
        else if (answer === undefined) refuse(call, refusal);
        else answer(refusal);
      };
      return [method, guard as UntypedHandleCall] as const;
    });
    return Object.fromEntries(guarded);
  }

  #refusalFor(call: AnyCall): CallRefusal | undefined {
    return this.#isStopping ? SHUTTING_DOWN : this.#open.refuseAny(call);
  }
}

/** Ends a stream with a status other than OK. */
function refuse(call: AnyCall, reason: CallRefusal): void {
  call.emit("error", Object.assign(new Error(reason.details), reason));
}
