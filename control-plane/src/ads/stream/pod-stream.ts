// One ADS stream: passes requests to the protocol, writes responses, and reports the pod's answers.
// One response is written at a time; a slow reader delays no other stream.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import { HEARTBEAT_FEATURE, HEARTBEAT_TYPE_URL } from "@weir/proto/grpc/heartbeat";

import { PodRevisions } from "../../pods/pod-revisions.ts";
import type { PodRegistry, PodReport, PodState } from "../../pods/pod-registry.ts";
import type { Publisher } from "../../snapshot/publisher.ts";
import { encodeHead, tailEncoder } from "../../snapshot/response-bytes.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { Heartbeat, type HeartbeatOptions } from "./heartbeat.ts";
import { identityOf, isProbe, type PodIdentity, podName } from "./node-identity.ts";
import { DeltaVariant } from "./delta.ts";
import { isRateLimitConfig, type StreamKind, violationOf } from "./request-violation.ts";
import type { SendPermit, SendSemaphore } from "./send-semaphore.ts";
import { SotwVariant } from "./sotw.ts";
import type { DueResponse, Meaning, PodRequest, Variant } from "./variant.ts";

/** Shortest time between two lines about answers of a pod of one kind, in milliseconds. */
const ANSWER_INTERVAL_MS = 1000;

/** The connection to the pod. */
export interface PodChannel {
  /** Address and port of the client. */
  readonly peer: string;
  /**
   * Sends one serialised response after those before; its chunks must not change until
   * `written`. A configuration is never sent before the last one was written; heartbeats are.
   */
  send(chunks: readonly Buffer[], written: () => void): void;
  /** Ends the stream of a pod that has sent nothing for this long. */
  hung(waitedMs: number): void;
}

export interface PodStreamDeps {
  readonly channel: PodChannel;
  readonly publisher: Pick<Publisher, "snapshotFor" | "revisionsOf">;
  readonly pods: PodRegistry;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Shared by all streams. */
  readonly semaphore: SendSemaphore;
  readonly log: Log;
}

/** How a stream was opened. */
export interface PodStreamOptions {
  /** Those of the client certificate; undefined: the node names them. */
  readonly granted?: Pick<PodIdentity, "namespace" | "fleet"> | undefined;
  /** The name of the replica, for clients. */
  readonly identifier: string;
  readonly kind: StreamKind;
  readonly snapshotMaxBytes: number;
  readonly heartbeat?: HeartbeatOptions | undefined;
}

/** A pod is known from the first request on. */
interface KnownPod {
  readonly identity: PodIdentity;
  readonly report: PodReport;
  readonly log: Log;
  /** ACKs and NACKs: a pod can cause any number by requesting other names. */
  readonly answers: RateLimitedLog;
}

/** The stream of one pod. */
export class PodStream {
  readonly #deps: PodStreamDeps;
  readonly #options: PodStreamOptions;
  #pod: KnownPod | undefined;
  /** Of the one type that is served; requests for others are not answered and leave no state. */
  readonly #variant: Variant;
  readonly #revisions: PodRevisions;
  /** For a pod that asks for it. */
  #heartbeat: Heartbeat | undefined;
  #nonces = 0;
  readonly #tail: (nonce: number) => Buffer;
  /** The last version that changed nothing for the pod. */
  #unaffectedVersion: string | undefined;
  /** Set while a revision may be tried only later. */
  #trialTimer: NodeJS.Timeout | undefined;
  /** Set from the moment a response is due until it is written. */
  #permit: SendPermit | undefined;
  /** Set when the client has ended its side. */
  #halfClosed: (() => void) | undefined;
  #isEnded = false;

  constructor(deps: PodStreamDeps, options: PodStreamOptions) {
    this.#deps = deps;
    this.#options = options;
    const { clock, publisher } = deps;
    const revisionsOf = (name: string) => publisher.revisionsOf(name);
    const { kind, snapshotMaxBytes, identifier } = options;
    const isIncremental = kind === "delta";
    this.#tail = tailEncoder(identifier, isIncremental ? "delta" : "sotw");
    this.#variant = isIncremental ? new DeltaVariant({ revisionsOf, snapshotMaxBytes }) : new SotwVariant();
    this.#revisions = new PodRevisions({ clock, revisionsOf, snapshotMaxBytes, isIncremental });
  }

  /** Takes a request; returns the violation for which the stream must end with INVALID_ARGUMENT. */
  receive(request: PodRequest): string | undefined {
    if (this.#isEnded) return undefined;
    const violation = violationOf(request, this.#options.kind);
    if (violation !== undefined) return violation;
    const pod = (this.#pod ??= this.#meet(request));
    this.#heartbeat?.received();
    if (request.typeUrl === HEARTBEAT_TYPE_URL) return undefined;
    if (!isRateLimitConfig(request.typeUrl)) {
      pod.log.debug("Ignored a request for another type", { type: request.typeUrl });
      return undefined;
    }
    const meaning = this.#variant.receive(request);
    if (meaning.kind === "violation") return meaning.message;
    this.#report(pod, meaning);
    this.#send();
    return undefined;
  }

  /** The name of the pod for the log; undefined before its first request. */
  podName(): string | undefined {
    return this.#pod === undefined ? undefined : podName(this.#pod.identity, this.#deps.channel.peer);
  }

  /** The state of the pod; undefined before its first request. */
  pod(): PodState | undefined {
    return this.#pod?.report.state;
  }

  /** Another snapshot may be active for the pod. */
  published(): void {
    this.#pod?.answers.clear();
    this.#send();
  }

  /**
   * The client has ended its side: calls back, immediately or later, when the response that is due
   * by now is written; nothing more is sent then.
   */
  halfClosed(done: () => void): void {
    this.#halfClosed = done;
    this.#heartbeat?.stop();
    if (this.#permit === undefined) done();
  }

  /** The stream has ended, on either side. May be called more than once. */
  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#trialTimer);
    this.#heartbeat?.stop();
    this.#permit?.release();
    this.#pod?.report.left();
    this.#pod?.log.info("Pod disconnected");
  }

  /** The first request of a stream identifies the client; later ones cannot change that. */
  #meet(request: PodRequest): KnownPod {
    const identity = identityOf(request.node, this.#options.granted);
    const { peer } = this.#deps.channel;
    const log = this.#deps.log.child({ pod: podName(identity, peer), fleet: identity.fleet });
    const { pods } = this.#deps;
    const isProbed = isProbe(request.node);
    const has = "versionInfo" in request ? request.versionInfo || undefined : undefined;
    log.info("Pod connected", { peer, has, isProbe: isProbed ? true : undefined });
    const pod = { ...identity, peer };
    // A status that counted a probe would say that a pod enforces what none does.
    const report = isProbed ? pods.unlisted(pod) : pods.connected(pod);
    const answers = new RateLimitedLog(log, { intervalMs: ANSWER_INTERVAL_MS });
    if (this.#options.kind !== "single-type" && request.node?.clientFeatures.includes(HEARTBEAT_FEATURE) === true)
      this.#heartbeat = this.#startHeartbeat();
    return { identity, log, report, answers };
  }

  #startHeartbeat(): Heartbeat {
    const { channel } = this.#deps;
    const send = (silenceMaxMs: number): void => {
      const head = encodeHead(String(silenceMaxMs), HEARTBEAT_TYPE_URL);
      channel.send([head, this.#tail((this.#nonces += 1))], () => undefined);
    };
    return new Heartbeat({ send, hung: (waitedMs) => channel.hung(waitedMs) }, this.#options.heartbeat);
  }

  #report({ report, log, answers }: KnownPod, meaning: Exclude<Meaning, { readonly kind: "violation" }>): void {
    switch (meaning.kind) {
      case "ack": {
        const { version } = meaning.sent.snapshot;
        this.#heartbeat?.answered();
        this.#revisions.ack();
        report.accepted(meaning.sent);
        answers.info("Pod ACKed snapshot", { version }, answerKey("ACK", meaning.sent.snapshot));
        break;
      }
      case "nack": {
        const { sent, message } = meaning;
        const { version } = sent.snapshot;
        this.#heartbeat?.answered();
        this.#revisions.nack(sent, message);
        report.rejected(version, message, this.#revisions.nacks);
        answers.error("Pod NACKed snapshot", { version, text: message }, answerKey("NACK", sent.snapshot));
        break;
      }
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
    if (this.#findDue() === undefined) {
      this.#reportUnaffected();
      return;
    }
    const permit = this.#deps.semaphore.permit(() => this.#write(permit));
    this.#permit = permit;
    permit.request();
  }

  #findDue(): DueResponse | undefined {
    if (this.#pod === undefined) return undefined;
    const published = this.#deps.publisher.snapshotFor(this.#pod.identity.fleet);
    if (published === undefined) return undefined; // The answer comes when a snapshot is active.
    const { held, wants } = this.#variant;
    const snapshot = this.#revisions.choose(published, held, wants === "all" ? undefined : wants);
    this.#pod.report.chosen(snapshot, this.#revisions.nacks);
    this.#scheduleTrial();
    return this.#variant.next(snapshot);
  }

  /** Looks again when a further revision may be tried. */
  #scheduleTrial(): void {
    clearTimeout(this.#trialTimer);
    const { nextTrialMs } = this.#revisions;
    if (nextTrialMs === undefined || this.#isEnded) return;
    this.#trialTimer = setTimeout(() => this.#send(), timerDelayMs(nextTrialMs, this.#deps.clock()));
  }

  /** A pod that lists names is sent nothing when none of them changed: its last answer holds. */
  #reportUnaffected(): void {
    const { wants, hasAnswered } = this.#variant;
    if (this.#pod === undefined || !hasAnswered || wants === undefined || wants === "all") return;
    const { choice } = this.#pod.report.state;
    if (choice === undefined || choice.version === this.#unaffectedVersion) return;
    this.#unaffectedVersion = choice.version;
    this.#pod.report.unaffected(choice.version);
  }

  /** Sends what is due now, which may have changed during the wait for the permit. */
  #write(permit: SendPermit): void {
    const due = this.#findDue();
    if (due === undefined) {
      this.#finish(permit);
      return;
    }
    const { version, pieces } = due;
    this.#heartbeat?.responding(pieces.reduce((sum, { length }) => sum + length, 0));
    const nonce = (this.#nonces += 1);
    due.sent(String(nonce));
    this.#unaffectedVersion = version;
    this.#pod?.report.sent(version);
    this.#deps.channel.send([...pieces, this.#tail(nonce)], () => this.#finish(permit));
  }

  #finish(permit: SendPermit): void {
    this.#permit = undefined;
    permit.release();
    if (!this.#isEnded) this.#halfClosed?.();
    this.#send();
  }
}

/** Each published version has a key, so that the first answer to it is logged; all others have one. */
function answerKey(kind: "ACK" | "NACK", { version, earlierRevisions }: Snapshot): string {
  return earlierRevisions.size === 0 ? `${kind} ${version}` : kind;
}
