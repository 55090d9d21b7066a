// One ADS stream: passes requests to the protocol, writes responses, and reports the pod's answers.
// One response is written at a time; a slow reader delays no other stream.
import type { Log } from "@weir/common/log/log";
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { Answered } from "../../pods/fleet-nack-policy.ts";
import type { NackPolicy, PodAnswers } from "../../pods/nack-policy.ts";
import type { PodRegistry, PodReport } from "../../pods/pod-registry.ts";
import { encodeResponse } from "../../snapshot/response-bytes.ts";
import { encodeSubset, type Snapshot } from "../../snapshot/snapshot.ts";
import type { WriteChunks } from "./chunked-writer.ts";
import { identityOf, type PodIdentity, podName } from "./node-identity.ts";
import type { SendPermit, SendSemaphore } from "./send-semaphore.ts";
import {
  afterSending,
  afterWithholding,
  type Meaning,
  NEW_TYPE,
  nextResponse,
  receiveRequest,
  type TypeState,
} from "./sotw.ts";
import { isWildcard } from "./subscription.ts";

/** Most names that one request may list; pods list none. */
const NAMES_MAX = 10_000;

/** The connection to the pod. */
export interface PodChannel {
  /** Address of the client. */
  readonly peer: string;
  /** Sends one serialised DiscoveryResponse; never called again before it has called back. */
  readonly send: WriteChunks;
}

/** Counts the events of all streams. */
export interface AdsCounters {
  /** A response is being sent. */
  pushed(): void;
  /** A pod has ACKed a response. */
  acknowledged(): void;
  /** A pod has NACKed a response, with this text. */
  rejected(message: string): void;
}

/** What a stream works with. */
export interface PodStreamDeps {
  readonly channel: PodChannel;
  readonly snapshotFor: (fleet: string) => Snapshot | undefined;
  readonly pods: PodRegistry;
  /** Gets the answers, and may send a pod something else than the active snapshot. */
  readonly nackPolicy?: Pick<NackPolicy, "joined"> | undefined;
  /** Shared by all streams. */
  readonly semaphore: SendSemaphore;
  readonly counters: AdsCounters;
  readonly log: Log;
}

/**
 * `aggregated`: requests name their type, and may name others than ours; `single-type`: ours is
 * meant when none is named, and no other can be.
 */
export type StreamKind = "aggregated" | "single-type";

/** How a stream was opened. */
export interface PodStreamOptions {
  /** The fleet of the client certificate; undefined: the node names its fleet. */
  readonly certificateFleet?: string | undefined;
  /** The name of the replica, for clients. */
  readonly identifier: string;
  readonly kind: StreamKind;
}

/** Whether a request where only our type can be meant asks for it: it need not name it. */
export function isRateLimitConfig(typeUrl: string): boolean {
  return typeUrl === "" || typeUrl === RATE_LIMIT_CONFIG_TYPE_URL;
}

/** A pod is known from the first request on. */
interface KnownPod {
  readonly identity: PodIdentity;
  readonly report: PodReport;
  readonly answers: PodAnswers | undefined;
  readonly log: Log;
}

/** A response that should be sent. */
interface DueResponse {
  readonly pod: KnownPod;
  readonly snapshot: Snapshot;
  readonly names: ReadonlySet<string> | undefined;
  /** The pod's earlier NACK of the version, because of which it is withheld. */
  readonly nack: ReturnType<PodAnswers["nackOf"]>;
}

/** The stream of one pod. */
export class PodStream {
  readonly #deps: PodStreamDeps;
  readonly #options: PodStreamOptions;
  #pod: KnownPod | undefined;
  /** The one type that is served; requests for others are not answered and leave no state. */
  #type: TypeState = NEW_TYPE;
  /** The last response, until it is answered. */
  #unanswered: Answered | undefined;
  #responses = 0;
  /** The last version that changed nothing for the pod. */
  #unaffectedVersion: string | undefined;
  /** Set from the moment a response is due until it is written. */
  #permit: SendPermit | undefined;
  /** Set when the client has ended its side. */
  #halfClosed: (() => void) | undefined;
  #isEnded = false;

  constructor(deps: PodStreamDeps, options: PodStreamOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Takes a request; returns the violation for which the stream must end with INVALID_ARGUMENT. */
  receive(request: DiscoveryRequest): string | undefined {
    if (this.#isEnded) return undefined;
    const violation = violationOf(request, this.#options.kind);
    if (violation !== undefined) return violation;
    const pod = (this.#pod ??= this.#meet(request));
    if (!isRateLimitConfig(request.typeUrl)) {
      pod.log.debug("Ignored a request for another type", { type: request.typeUrl });
      return undefined;
    }
    const { state, meaning } = receiveRequest(this.#type, request);
    this.#type = state;
    this.#report(pod, meaning);
    this.#send();
    return undefined;
  }

  /** The name of the pod for the log; undefined before its first request. */
  podName(): string | undefined {
    return this.#pod === undefined ? undefined : podName(this.#pod.identity, this.#deps.channel.peer);
  }

  /** Another snapshot may be active for the pod. */
  published(): void {
    this.#send();
  }

  /**
   * The client has ended its side: calls back, immediately or later, when the response that is due
   * by now is written; nothing more is sent then.
   */
  halfClosed(done: () => void): void {
    this.#halfClosed = done;
    if (this.#permit === undefined) done();
  }

  /** The stream has ended, on either side. May be called more than once. */
  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#permit?.release();
    this.#pod?.report.left();
    this.#pod?.answers?.left();
    this.#pod?.log.info("Pod disconnected");
  }

  /** The first request of a stream identifies the client; later ones cannot change that. */
  #meet(request: DiscoveryRequest): KnownPod {
    const identity = identityOf(request.node, this.#options.certificateFleet);
    const { peer } = this.#deps.channel;
    const log = this.#deps.log.child({ pod: podName(identity, peer), fleet: identity.fleet });
    log.info("Pod connected", { peer, has: request.versionInfo === "" ? undefined : request.versionInfo });
    // A pod with configuration names its version at the start of every stream. One without is a new
    // process, or one that could load nothing.
    const answers = this.#deps.nackPolicy?.joined({ ...identity, peer, isFresh: request.versionInfo === "" });
    return { identity, log, report: this.#deps.pods.connected({ ...identity, peer }), answers };
  }

  #report({ report, answers, log }: KnownPod, meaning: Meaning): void {
    const answered = this.#unanswered;
    switch (meaning.kind) {
      case "ack":
        report.accepted(meaning.version);
        this.#deps.counters.acknowledged();
        log.info("Pod ACKed snapshot", { version: meaning.version });
        this.#unanswered = undefined;
        if (answered !== undefined) answers?.acked(answered);
        break;
      case "nack":
        report.rejected(meaning.version, meaning.message);
        this.#deps.counters.rejected(meaning.message);
        log.error("Pod NACKed snapshot", { version: meaning.version, text: meaning.message });
        this.#unanswered = undefined;
        if (answered !== undefined) answers?.nacked(answered, meaning.message);
        break;
      case "subscribe":
      case "update":
      case "stale":
        log.debug("Received a request", { kind: meaning.kind });
        break;
    }
  }

  /** Sends when a response is due and none is being written. */
  #send(): void {
    if (this.#permit !== undefined || this.#halfClosed !== undefined || this.#isEnded) return;
    const due = this.#findDue();
    if (due === undefined) {
      this.#reportUnaffected();
      return;
    }
    if (due.nack !== undefined) {
      this.#withhold(due, due.nack);
      return;
    }
    const permit = this.#deps.semaphore.permit(() => this.#write(permit));
    this.#permit = permit;
    permit.request();
  }

  #findDue(): DueResponse | undefined {
    if (this.#pod === undefined) return undefined;
    const active = this.#deps.snapshotFor(this.#pod.identity.fleet);
    if (active === undefined) return undefined; // The answer comes when a snapshot is active.
    const snapshot = this.#pod.answers?.candidate() ?? active;
    const next = nextResponse(this.#type, snapshot);
    if (!next.send) return undefined;
    // A pod is sent what it asks for, whatever it answered before.
    const isAskedFor = next.names !== undefined || this.#type.owed === "all";
    const nack = isAskedFor ? undefined : this.#pod.answers?.nackOf(snapshot.version);
    return { pod: this.#pod, snapshot, names: next.names, nack };
  }

  /** Reports, instead of sending it, an active snapshot that the pod NACKed on this stream. */
  #withhold({ pod, snapshot }: DueResponse, nack: NonNullable<DueResponse["nack"]>): void {
    // Until the pod has answered, it is unknown what it has loaded; its answer leads here again.
    if (this.#type.sent?.isAnswered !== true) return;
    this.#type = afterWithholding(this.#type, snapshot);
    pod.report.withheld(snapshot.version, nack);
    pod.log.info("Withheld a snapshot that the pod NACKed before", { version: snapshot.version });
  }

  /** A pod that lists names is sent nothing when none of them changed: its last answer holds. */
  #reportUnaffected(): void {
    const { sent, subscription } = this.#type;
    if (this.#pod === undefined || sent?.isAnswered !== true || subscription === undefined || isWildcard(subscription))
      return;
    const active = this.#deps.snapshotFor(this.#pod.identity.fleet);
    if (active === undefined || active.version === this.#unaffectedVersion) return;
    this.#unaffectedVersion = active.version;
    this.#pod.report.unaffected(active.version);
  }

  /** Sends what is due now, which may have changed during the wait for the permit. */
  #write(permit: SendPermit): void {
    const due = this.#findDue();
    if (due === undefined || due.nack !== undefined) {
      this.#finish(permit);
      return;
    }
    const { pod, snapshot, names } = due;
    this.#responses += 1;
    const nonce = String(this.#responses);
    const body = names === undefined ? snapshot.body : encodeSubset(snapshot, (name) => names.has(name));
    this.#type = afterSending(this.#type, snapshot, { nonce, names });
    this.#unanswered = { snapshot, names };
    this.#unaffectedVersion = snapshot.version;
    pod.report.sent(snapshot.version);
    this.#deps.counters.pushed();
    this.#deps.channel.send(encodeResponse(body, { nonce, identifier: this.#options.identifier }), () =>
      this.#finish(permit),
    );
  }

  #finish(permit: SendPermit): void {
    this.#permit = undefined;
    permit.release();
    if (!this.#isEnded) this.#halfClosed?.();
    this.#send();
  }
}

function violationOf({ typeUrl, resourceNames }: DiscoveryRequest, kind: StreamKind): string | undefined {
  if (typeUrl === "" && kind === "aggregated") return "type_url is missing: it is required on an aggregated stream";
  if (kind === "single-type" && !isRateLimitConfig(typeUrl))
    return `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing on this stream`;
  if (resourceNames.length > NAMES_MAX)
    return `resource_names holds ${resourceNames.length} names, at most ${NAMES_MAX} are allowed`;
  return undefined;
}
