// One ADS stream: hands requests to the protocol, writes what it says, and reports what the pod
// answers. At most one response is being written; whatever comes in force meanwhile is looked at
// when that is done, so that a slow reader costs one response and never delays the others.
import type { Log } from "@weir/common/log/log";
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { PodRegistry, PodReport } from "../pods/pod-registry.ts";
import type { PodAnswers, PodQuarantine } from "../pods/quarantine.ts";
import type { Answered } from "../pods/quarantine-fleet.ts";
import { encodeResponse } from "../snapshot/response-bytes.ts";
import { encodeSubset, type Snapshot } from "../snapshot/snapshot.ts";
import { identityOf, type PodIdentity, podName } from "./node-identity.ts";
import type { SendBudget, SendShare } from "./send-budget.ts";
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

/** The other end, as the stream needs it. */
export interface PodChannel {
  /** Address of the client. */
  readonly peer: string;
  /**
   * Sends one serialised DiscoveryResponse, given in pieces, and calls back when the next one may
   * follow. Never called again before that.
   */
  send(response: readonly Buffer[], written: () => void): void;
}

/**
 * What a client did that the protocol forbids; the stream ends with INVALID_ARGUMENT and this text.
 */
export interface ProtocolViolation {
  readonly message: string;
}

/** Counts what happens on all streams. */
export interface AdsCounters {
  /** A response is being sent. */
  pushed(): void;
  /** A pod has accepted a response. */
  acknowledged(): void;
  /** A pod has rejected a response, with this text. */
  rejected(message: string): void;
}

/** What a stream works with. */
export interface PodStreamDeps {
  readonly channel: PodChannel;
  readonly snapshotFor: (fleet: string) => Snapshot | undefined;
  readonly pods: PodRegistry;
  /**
   * Hears what pods accept and reject, and may have a pod asked about something else than is in
   * force; undefined: nothing follows from answers.
   */
  readonly quarantine?: PodQuarantine;
  /** Shared by all streams. */
  readonly budget: SendBudget;
  readonly counters: AdsCounters;
  readonly log: Log;
}

/** A stream of one pod. */
export interface PodStream {
  /** Takes in a request; answers what is wrong with it, if the stream must end for that. */
  receive(request: DiscoveryRequest): ProtocolViolation | undefined;
  /** Something else is in force. */
  published(): void;
  /**
   * The pod has nothing more to say: calls back, at once or later, when what is due to it by now
   * has been written; nothing more is sent then.
   */
  heardOut(done: () => void): void;
  /** The stream has ended, whoever ended it. May be called more than once. */
  ended(): void;
}

/**
 * `aggregated`: requests name their type, and may name others than ours; `single-type`: ours is
 * meant when none is named, and no other can be.
 */
export type StreamKind = "aggregated" | "single-type";

/** How a stream was opened. */
export interface PodStreamOptions {
  /** Tells clients which replica they talk to. */
  readonly identifier: string;
  readonly kind: StreamKind;
}

/** Makes a stream. */
export function createPodStream(deps: PodStreamDeps, options: PodStreamOptions): PodStream {
  return new SotwPodStream(deps, options);
}

/**
 * Whether a request on a stream for a single type, or outside a stream, asks for that type: it need
 * not name it.
 */
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
interface Due {
  readonly pod: KnownPod;
  readonly snapshot: Snapshot;
  readonly names: ReadonlySet<string> | undefined;
  /** Why it is not sent all the same: what the pod said of the version earlier. */
  readonly rejection: ReturnType<PodAnswers["rejectionOf"]>;
}

class SotwPodStream implements PodStream {
  readonly #deps: PodStreamDeps;
  readonly #options: PodStreamOptions;
  #pod: KnownPod | undefined;
  /** The one type that is served; requests for others are not answered and leave nothing behind. */
  #type: TypeState = NEW_TYPE;
  /** The last response, until it is answered. */
  #unanswered: Answered | undefined;
  #responses = 0;
  /** The last version that brought the pod nothing. */
  #unaffectedVersion: string | undefined;
  /** Set from the moment a response is due until it is written. */
  #share: SendShare | undefined;
  /** Set when the pod has nothing more to say. */
  #heardOut: (() => void) | undefined;
  #isEnded = false;

  constructor(deps: PodStreamDeps, options: PodStreamOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  receive(request: DiscoveryRequest): ProtocolViolation | undefined {
    if (this.#isEnded) return undefined;
    const isSingleType = this.#options.kind === "single-type";
    if (request.typeUrl === "" && !isSingleType)
      return { message: "type_url is missing: it is required on an aggregated stream" };
    if (isSingleType && !isRateLimitConfig(request.typeUrl)) {
      return { message: `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing on this stream` };
    }
    if (request.resourceNames.length > NAMES_MAX) {
      return {
        message: `resource_names holds ${request.resourceNames.length} names, at most ${NAMES_MAX} are allowed`,
      };
    }
    const pod = (this.#pod ??= this.#meet(request));
    if (!isRateLimitConfig(request.typeUrl)) {
      pod.log.debug("Ignored a request for another type", { type: request.typeUrl });
      return undefined;
    }
    const { state, meaning } = receiveRequest(this.#type, request);
    this.#type = state;
    this.#note(pod, meaning);
    this.#send();
    return undefined;
  }

  published(): void {
    this.#send();
  }

  heardOut(done: () => void): void {
    this.#heardOut = done;
    if (this.#share === undefined) done();
  }

  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#share?.release();
    this.#pod?.report.left();
    this.#pod?.answers?.left();
    this.#pod?.log.info("Pod left");
  }

  /** Only the first request of a stream must say who the client is; later ones cannot change it. */
  #meet(request: DiscoveryRequest): KnownPod {
    const identity = identityOf(request.node);
    const { peer } = this.#deps.channel;
    const log = this.#deps.log.child({ pod: podName(identity, peer), fleet: identity.fleet });
    log.info("Pod connected", { peer, has: request.versionInfo === "" ? undefined : request.versionInfo });
    // Who has configuration says which at the beginning of every stream. Who has none is a new
    // process, or one that could load nothing.
    const answers = this.#deps.quarantine?.joined({ ...identity, peer, isFresh: request.versionInfo === "" });
    return { identity, log, report: this.#deps.pods.connected({ ...identity, peer }), answers };
  }

  #note({ report, answers, log }: KnownPod, meaning: Meaning): void {
    const answered = this.#unanswered;
    switch (meaning.kind) {
      case "ack":
        report.accepted(meaning.version);
        this.#deps.counters.acknowledged();
        log.info("Pod accepted snapshot", { version: meaning.version });
        this.#unanswered = undefined;
        if (answered !== undefined) answers?.accepted(answered);
        break;
      case "nack":
        report.rejected(meaning.version, meaning.message);
        this.#deps.counters.rejected(meaning.message);
        log.error("Pod rejected snapshot", { version: meaning.version, text: meaning.message });
        this.#unanswered = undefined;
        if (answered !== undefined) answers?.rejected(answered, meaning.message);
        break;
      case "subscribe":
      case "update":
      case "stale":
        log.debug("Pod asked", { kind: meaning.kind });
        break;
    }
  }

  /** Sends when something is due and nothing is under way. */
  #send(): void {
    if (this.#share !== undefined || this.#heardOut !== undefined || this.#isEnded) return;
    const due = this.#findDue();
    if (due === undefined) {
      this.#noteUnaffected();
      return;
    }
    if (due.rejection !== undefined) {
      this.#withhold(due, due.rejection);
      return;
    }
    const share = this.#deps.budget.share(() => this.#write(share));
    this.#share = share;
    share.request();
  }

  #findDue(): Due | undefined {
    if (this.#pod === undefined) return undefined;
    const inForce = this.#deps.snapshotFor(this.#pod.identity.fleet);
    if (inForce === undefined) return undefined; // Nothing is in force yet: the answer comes when something is.
    const snapshot = this.#pod.answers?.offer() ?? inForce;
    const next = nextResponse(this.#type, snapshot);
    if (!next.send) return undefined;
    // What it asks for it is sent, whatever it said of that.
    const isAskedFor = next.names !== undefined || this.#type.owed === "all";
    const rejection = isAskedFor ? undefined : this.#pod.answers?.rejectionOf(snapshot.version);
    return { pod: this.#pod, snapshot, names: next.names, rejection };
  }

  /**
   * Something is in force again that the pod rejected on this stream: whoever looks is told so, and
   * the pod is not asked for nothing.
   */
  #withhold({ pod, snapshot }: Due, rejection: NonNullable<Due["rejection"]>): void {
    // While it has something to answer it is not known what it has loaded; after its answer this is
    // looked at again.
    if (this.#type.sent?.isAnswered !== true) return;
    this.#type = afterWithholding(this.#type, snapshot);
    pod.report.withheld(snapshot.version, rejection);
    pod.log.info("Pod is not sent a snapshot again that it rejected", { version: snapshot.version });
  }

  /**
   * A pod that lists names is sent nothing when none of them has changed: what it said of them
   * holds for the version in force.
   */
  #noteUnaffected(): void {
    const { sent, subscription } = this.#type;
    if (this.#pod === undefined || sent?.isAnswered !== true || subscription === undefined || isWildcard(subscription))
      return;
    const inForce = this.#deps.snapshotFor(this.#pod.identity.fleet);
    if (inForce === undefined || inForce.version === this.#unaffectedVersion) return;
    this.#unaffectedVersion = inForce.version;
    this.#pod.report.unaffected(inForce.version);
  }

  /**
   * Sends what is due now; during the wait for the share it may have become something else, or
   * nothing.
   */
  #write(share: SendShare): void {
    const due = this.#findDue();
    if (due === undefined || due.rejection !== undefined) {
      this.#finish(share);
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
      this.#finish(share),
    );
  }

  #finish(share: SendShare): void {
    this.#share = undefined;
    share.release();
    if (!this.#isEnded) this.#heardOut?.();
    this.#send();
  }
}
