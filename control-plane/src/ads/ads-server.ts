// The gRPC listener for pods: TLS, who may connect, keepalive, and the life of streams. What is said on a stream is pod-stream.ts's.
import { experimental, Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { type ListenAddress, listenError } from "@weir/common/net/listen";
import { createGrpcCertificateProvider } from "@weir/common/tls/grpc-certificate-provider";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { PodRegistry } from "../rollout/pod-registry.ts";
import type { PodQuarantine } from "../rollout/quarantine.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { alternativeNames, isAllowed } from "./allowed-names.ts";
import { type AdsCounters, createPodStream, type PodStream } from "./pod-stream.ts";
import { createSendBudget } from "./send-budget.ts";

/** How often a silent connection is asked for a sign of life, and how long that may take, in milliseconds: a dead pod is gone within their sum. */
const KEEPALIVE_INTERVAL_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;

/** Connections are closed at this age (give or take a tenth), in milliseconds, so that pods spread over replicas that came later. */
const CONNECTION_AGE_MAX_MS = 3_600_000;

/** How long the streams of such a connection may go on, in milliseconds. */
const CONNECTION_AGE_GRACE_MS = 5000;

/** Largest request, in bytes: node, names and a rejection text. */
const REQUEST_MAX_BYTES = 1024 * 1024;

/** Most streams on one connection, and in all. A pod needs one. */
const STREAMS_PER_CONNECTION_MAX = 100;
const STREAMS_MAX = 10_000;

/** How connections are protected: mutual TLS, or nothing at all where somebody asked for that by name. */
export type AdsSecurity =
  | {
      readonly kind: "mutual-tls";
      readonly files: TlsFiles;
      /** Names of which a client certificate must have one; empty allows every certificate of the authority. */
      readonly allowedNames: readonly string[];
    }
  | { readonly kind: "plaintext" };

/** Where to listen and what to tell clients. */
export interface AdsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Tells clients which replica they talk to. */
  readonly identifier: string;
  readonly keepaliveIntervalMs?: number;
  readonly keepaliveTimeoutMs?: number;
}

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
}

/** The listener. */
export interface AdsServer extends Part {
  start(): Promise<void>;
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

/** How long peers may take to hear of the end before connections are cut, in milliseconds. */
const STOP_GRACE_MS = 1000;

const SHUTTING_DOWN = { code: status.UNAVAILABLE, details: "the control plane is shutting down, connect again" };

class GrpcAdsServer implements AdsServer {
  readonly name = "ADS listener";
  readonly #deps: AdsServerDeps;
  readonly #options: AdsServerOptions;
  readonly #server: Server;
  readonly #budget = createSendBudget();
  readonly #open = new Map<Call, PodStream>();
  #address: ListenAddress | undefined;
  #unsubscribe: (() => void) | undefined;
  #isStopping = false;

  constructor(deps: AdsServerDeps, options: AdsServerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#server = new Server({
      "grpc.keepalive_time_ms": options.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS,
      "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS,
      "grpc.max_connection_age_ms": CONNECTION_AGE_MAX_MS,
      "grpc.max_connection_age_grace_ms": CONNECTION_AGE_GRACE_MS,
      "grpc.max_receive_message_length": REQUEST_MAX_BYTES,
      // The bound is SNAPSHOT_MAX_BYTES; it is not looked at twice.
      "grpc.max_send_message_length": -1,
      "grpc.max_concurrent_streams": STREAMS_PER_CONNECTION_MAX,
    });
    const { streamAggregatedResources } = serviceDefinition(AggregatedDiscoveryService);
    const definition = { ...streamAggregatedResources, responseSerialize: (response: Buffer): Buffer => response };
    // The incremental method is not offered: grpc-js answers UNIMPLEMENTED for it.
    this.#server.addService(
      { streamAggregatedResources: definition },
      {
        streamAggregatedResources: (call: Call) => this.#accept(call),
      },
    );
  }

  async start(): Promise<void> {
    const { host, port } = this.#options;
    const what = { host, port, setting: "ADS_PORT", what: "ADS" };
    const bound = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${host.includes(":") ? `[${host}]` : host}:${port}`, credentialsOf(this.#deps.security), (error, actual) => {
        if (error === null) resolve(actual);
        else reject(listenError(error, what));
      });
    });
    this.#address = { host, port: bound };
    this.#unsubscribe = this.#deps.snapshots.onPublished(() => {
      for (const stream of this.#open.values()) stream.published();
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe?.();
    for (const call of [...this.#open.keys()]) refuse(call, SHUTTING_DOWN);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, STOP_GRACE_MS);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  address(): ListenAddress | undefined {
    return this.#address;
  }

  streams(): number {
    return this.#open.size;
  }

  #accept(call: Call): void {
    // Without a listener an error event would end the process; what happened is told by the end of the stream.
    call.on("error", (error) => this.#deps.log.debug("An ADS stream failed", { peer: call.getPeer(), error }));
    const refusal = this.#refusalFor(call);
    if (refusal !== undefined) {
      refuse(call, refusal);
      return;
    }
    const { snapshots, pods, quarantine, counters, log } = this.#deps;
    const channel = {
      peer: call.getPeer(),
      send: (response: Buffer, written: () => void): void => {
        call.write(response, written);
      },
    };
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
      { identifier: this.#options.identifier },
    );
    this.#open.set(call, stream);
    call.on("data", (request: DiscoveryRequest) => this.#receive(call, stream, request));
    // The client has nothing more to say: so have we.
    call.on("end", () => call.end());
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
    this.#deps.log.warn("Ended an ADS stream, the client broke the protocol", { peer: call.getPeer(), text: violation.message });
    refuse(call, { code: status.INVALID_ARGUMENT, details: violation.message });
  }

  #refusalFor(call: Call): { readonly code: status; readonly details: string } | undefined {
    const { security, log } = this.#deps;
    if (this.#isStopping) return SHUTTING_DOWN;
    if (this.#open.size >= STREAMS_MAX) {
      return { code: status.RESOURCE_EXHAUSTED, details: `this replica has ${STREAMS_MAX} streams already` };
    }
    if (security.kind === "plaintext") return undefined;
    const names = alternativeNames(call.getAuthContext().sslPeerCertificate);
    if (isAllowed(names, security.allowedNames)) return undefined;
    const shown = names.length === 0 ? "none" : names.join(", ");
    log.warn("Refused a pod, no name in its certificate is among ADS_ALLOWED_SANS", {
      peer: call.getPeer(),
      names: shown,
      allowed: security.allowedNames.join(", "),
    });
    return { code: status.PERMISSION_DENIED, details: `no name in the client certificate is allowed here, its names are: ${shown}` };
  }
}

function credentialsOf(security: AdsSecurity): ServerCredentials {
  if (security.kind === "plaintext") return ServerCredentials.createInsecure();
  const provider = createGrpcCertificateProvider(security.files);
  // Both providers are the same object, so that it does not matter in which order grpc-js takes them.
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

/** Ends a stream with a status other than OK. */
function refuse(call: Call, reason: { readonly code: status; readonly details: string }): void {
  call.emit("error", Object.assign(new Error(reason.details), reason));
}
