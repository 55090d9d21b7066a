// The gRPC listener for pods: TLS, who may connect, keepalive, and the life of streams. What is
// said on a stream is pod-stream.ts's.
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
import type { PodQuarantine } from "../pods/quarantine.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { encodeResponse } from "../snapshot/response-bytes.ts";
import { type AdsSecurity, type CallRefusal, nameRefusal } from "./ads-security.ts";
import { createAdsListener } from "./connection-listener.ts";
import { AGGREGATED, SINGLE_TYPE } from "./discovery-services.ts";
import type { GrpcService } from "./grpc-service.ts";
import { type LimitedLog, limitLog } from "./limited-log.ts";
import { identityOf } from "./node-identity.ts";
import { type AdsCounters, createPodStream, isRateLimitConfig, type PodStream, type StreamKind } from "./pod-stream.ts";
import { createSendBudget } from "./send-budget.ts";
import { type ConnectionLife, serverOptionsOf } from "./server-options.ts";
import { spreadDelaysMs } from "./spread.ts";
import { createPieceSender } from "./write-pieces.ts";

/** Most streams in all. A pod needs one. */
const STREAMS_MAX = 10_000;

/** Where to listen and what to tell clients. */
export interface AdsServerOptions extends ConnectionLife {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Tells clients which replica they talk to. */
  readonly identifier: string;
  readonly handshakeTimeoutMs?: number;
  readonly streamsMax?: number;
}

/**
 * Why somebody was not let in: the connection came to nothing, no name of the certificate is
 * allowed, or the replica is full.
 */
export const ADS_REFUSALS = [...CONNECTION_FAILURES, "name-not-allowed", "too-many-streams"] as const;

/** One of {@link ADS_REFUSALS}. */
export type AdsRefusal = (typeof ADS_REFUSALS)[number];

/** What the listener works with. */
export interface AdsServerDeps {
  readonly log: Log;
  readonly security: AdsSecurity;
  readonly snapshots: {
    snapshotFor(fleet: string): Snapshot | undefined;
    onPublished(listener: () => void): () => void;
  };
  readonly pods: PodRegistry;
  /** Undefined: nothing follows from what pods reject. */
  readonly quarantine?: PodQuarantine;
  readonly counters: AdsCounters;
  /** Hears of each client that was not let in, and why. */
  readonly refused?: (reason: AdsRefusal) => void;
  /** What else is served, under the same rules of who may call. */
  readonly services?: readonly GrpcService[];
}

/** The listener. */
export interface AdsServer extends Part {
  start(): Promise<void>;
  /**
   * Ends the streams that are open one after the other within this time, in milliseconds, so that
   * their pods do not all come to other replicas at once.
   */
  drain(overMs: number): void;
  /** Ends every stream with UNAVAILABLE, then the listener. */
  stop(): Promise<void>;
  /** The address it has, once started. */
  address(): ListenAddress | undefined;
  /** Streams that are open. */
  streams(): number;
}

/** Makes the listener; it opens at start. */
export function createAdsServer(deps: AdsServerDeps, options: AdsServerOptions): AdsServer {
  return new GrpcAdsServer(deps, options);
}

/** A stream as grpc-js has it: responses are serialised already. */
type Call = ServerDuplexStream<DiscoveryRequest, Buffer>;

/** Any call, as far as it matters who calls. */
type AnyCall = Pick<Call, "getPeer" | "getAuthContext" | "emit">;

/** A handler of any kind: only one that answers once is given something to answer with. */
type GuardedHandler = (call: AnyCall, answer: sendUnaryData<unknown> | undefined) => void;

/** How long peers may take to hear of the end before connections are cut, in milliseconds. */
const STOP_GRACE_MS = 1000;

/** A call that is answered once. */
type UnaryCall = ServerUnaryCall<DiscoveryRequest, Buffer>;

const OTHER_TYPE = {
  code: status.INVALID_ARGUMENT,
  details: `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing here`,
};

const NOTHING_IN_FORCE = { code: status.UNAVAILABLE, details: "no configuration is in force yet, ask again" };

const SHUTTING_DOWN = { code: status.UNAVAILABLE, details: "the control plane is shutting down, connect again" };

class GrpcAdsServer implements AdsServer {
  readonly name = "ADS listener";
  readonly #deps: AdsServerDeps;
  readonly #options: AdsServerOptions;
  readonly #server: Server;
  readonly #listener: ConnectionListener;
  readonly #warnings: LimitedLog;
  readonly #budget = createSendBudget();
  readonly #open = new Map<Call, PodStream>();
  /** Of a drain that goes on. */
  readonly #endings = new Set<NodeJS.Timeout>();
  #address: ListenAddress | undefined;
  readonly #unsubscribe: (() => void)[] = [];
  /** Set while streams are to be looked at again, once for all that happens in a turn. */
  #looking: NodeJS.Immediate | undefined;
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
    // Connections are opened here and injected: of a handshake that fails grpc-js 1.14 tells
    // nobody, and it takes as many connections as come.
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#warnings = limitLog(deps.log, () => performance.now());
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
    const { snapshots, quarantine } = this.#deps;
    this.#unsubscribe.push(snapshots.onPublished(() => this.#lookAtStreams()));
    // What pods that come and go say may change what others are asked, though nothing else is in
    // force.
    if (quarantine !== undefined) {
      this.#unsubscribe.push(quarantine.onChanged(() => (this.#looking ??= setImmediate(() => this.#lookAtStreams()))));
    }
  }

  drain(overMs: number): void {
    const calls = [...this.#open.keys()];
    spreadDelaysMs(calls.length, overMs).forEach((delayMs, index) => {
      const call = calls[index];
      if (call !== undefined)
        this.#endings.add(setTimeout(() => this.#open.has(call) && refuse(call, SHUTTING_DOWN), delayMs));
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#endings) clearTimeout(timer);
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    clearImmediate(this.#looking);
    const closed = this.#listener.close();
    for (const call of [...this.#open.keys()]) refuse(call, SHUTTING_DOWN);
    const timer = setTimeout(() => {
      this.#server.forceShutdown();
      this.#listener.cut();
    }, STOP_GRACE_MS);
    // It does not wait until what it said is sent over connections that were injected; the listener
    // does.
    this.#server.tryShutdown(() => undefined);
    await closed;
    clearTimeout(timer);
  }

  address(): ListenAddress | undefined {
    return this.#address;
  }

  streams(): number {
    return this.#open.size;
  }

  #lookAtStreams(): void {
    clearImmediate(this.#looking);
    this.#looking = undefined;
    for (const stream of this.#open.values()) stream.published();
  }

  /** One answer with what is in force; it is not followed up, and the pod is in no report. */
  #fetch(call: UnaryCall, answer: sendUnaryData<Buffer>): void {
    const refusal = this.#refusalFor(call) ?? (isRateLimitConfig(call.request.typeUrl) ? undefined : OTHER_TYPE);
    const snapshot = this.#deps.snapshots.snapshotFor(identityOf(call.request.node).fleet);
    if (refusal !== undefined) answer(refusal);
    else if (snapshot === undefined) answer(NOTHING_IN_FORCE);
    else
      answer(null, Buffer.concat(encodeResponse(snapshot.body, { nonce: "1", identifier: this.#options.identifier })));
  }

  #accept(call: Call, kind: StreamKind): void {
    // Without a listener an error event would end the process; what happened is told by the end of
    // the stream.
    call.on("error", (error) => this.#deps.log.debug("An ADS stream failed", { peer: call.getPeer(), error }));
    const refusal = this.#refusalFor(call);
    if (refusal !== undefined) {
      refuse(call, refusal);
      return;
    }
    const { snapshots, pods, quarantine, counters, log } = this.#deps;
    const channel = { peer: call.getPeer(), send: createPieceSender(call) };
    const stream = createPodStream(
      {
        channel,
        snapshotFor: (fleet) => snapshots.snapshotFor(fleet),
        pods,
        ...(quarantine === undefined ? {} : { quarantine }),
        budget: this.#budget,
        counters,
        log,
      },
      { identifier: this.#options.identifier, kind },
    );
    this.#open.set(call, stream);
    call.on("data", (request: DiscoveryRequest) => this.#receive(call, stream, request));
    // The client has nothing more to say: so have we, once what it asked for has been sent.
    call.on("end", () => stream.heardOut(() => call.end()));
    const ended = (): void => {
      this.#open.delete(call);
      stream.ended();
    };
    call.on("cancelled", ended);
    call.on("close", ended);
    call.on("finish", ended);
  }

  #receive(call: Call, stream: PodStream, request: DiscoveryRequest): void {
    const violation = stream.receive(request);
    if (violation === undefined) return;
    this.#warnings.warn("Ended an ADS stream, the client broke the protocol", {
      peer: call.getPeer(),
      text: violation.message,
    });
    refuse(call, { code: status.INVALID_ARGUMENT, details: violation.message });
  }

  /** Calls of other services are let in as pods are. */
  #guard(implementation: UntypedServiceImplementation): UntypedServiceImplementation {
    const guarded = Object.entries(implementation).map(([method, handle]) => {
      const guard = (call: AnyCall, answer?: sendUnaryData<unknown>): void => {
        const refusal = this.#refusalFor(call);
        if (refusal === undefined) (handle as GuardedHandler)(call, answer);
        else if (answer === undefined) refuse(call, refusal);
        else answer(refusal);
      };
      return [method, guard as UntypedHandleCall] as const;
    });
    return Object.fromEntries(guarded);
  }

  #refusalFor(call: AnyCall): CallRefusal | undefined {
    const { security, refused } = this.#deps;
    if (this.#isStopping) return SHUTTING_DOWN;
    if (this.#open.size >= (this.#options.streamsMax ?? STREAMS_MAX)) {
      refused?.("too-many-streams");
      this.#warnings.warn("Refused a call on the port for pods, as many streams are open as one replica has", {
        peer: call.getPeer(),
        streams: this.#open.size,
      });
      return { code: status.RESOURCE_EXHAUSTED, details: `this replica has ${this.#open.size} streams already` };
    }
    const refusal = nameRefusal(call, security, this.#warnings);
    if (refusal !== undefined) refused?.("name-not-allowed");
    return refusal;
  }
}

/** Ends a stream with a status other than OK. */
function refuse(call: AnyCall, reason: CallRefusal): void {
  call.emit("error", Object.assign(new Error(reason.details), reason));
}
