// One stream of observations of a pod: its first message names the pod, whose discovery stream is on the
// same connection.
import { create } from "@bufbuild/protobuf";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { decodeMessage, encodeMessage } from "@weir/http2/grpc/library-messages";
import { malformedRequestText } from "@weir/http2/grpc/malformed-message";
import { MessageQueue } from "@weir/http2/grpc/message-queue";
import type { StreamingCall, StreamingReceiver } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";
import {
  type Hello,
  type ObserveRequest,
  ObserveRequestSchema,
  ObserveResponseSchema,
  type ReadCounters,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";

import type { PodState } from "../pods/pod-registry.ts";
import type { PodAnswers } from "./counter-questions.ts";
import { hasDomain, hasRule } from "./known-rules.ts";
import type { ObserveHub, PodObserver, Wanted } from "./observe-hub.ts";

/** Largest message, in bytes. */
const MESSAGE_MAX_BYTES = 256 * 1024;

export interface ObserveCallDeps {
  readonly hub: Pick<ObserveHub, "add" | "questions">;
  /** The state of the pod with a discovery stream on this connection; undefined: there is none. */
  readonly findPod: (nodeId: string) => (() => PodState) | undefined;
  /** How long the first message may take, in milliseconds. */
  readonly firstMessageMaxMs: number;
  /** The stream is closed. */
  readonly closed: (call: ObserveCall) => void;
  /** Logs a pod that sends too much. */
  readonly warnings: Pick<RateLimitedLog, "warn">;
  /** Takes a message of so many bytes into account; returns why it is too much, undefined: it is not. */
  readonly spend: (bytes: number) => string | undefined;
}

/** The stream. */
export class ObserveCall implements StreamingReceiver {
  readonly #deps: ObserveCallDeps;
  readonly #messages: MessageQueue;
  readonly #timer: NodeJS.Timeout;
  #observer: PodObserver | undefined;
  #answers: PodAnswers | undefined;
  #wanted: Wanted = { totals: false, keysOf: [], hashKey: undefined };
  #nodeId = "";
  #isEnded = false;

  constructor(call: StreamingCall, deps: ObserveCallDeps) {
    this.#deps = deps;
    this.#messages = new MessageQueue(() => call);
    this.#timer = setTimeout(
      () => this.end(GrpcStatus.DEADLINE_EXCEEDED, `no message came within ${deps.firstMessageMaxMs} ms`),
      deps.firstMessageMaxMs,
    );
  }

  message(bytes: Buffer, start: number, end: number): void {
    if (this.#isEnded) return;
    if (end - start > MESSAGE_MAX_BYTES) {
      const text = `the message has ${end - start} bytes, at most ${MESSAGE_MAX_BYTES} are allowed`;
      this.end(GrpcStatus.RESOURCE_EXHAUSTED, text);
      return;
    }
    const excess = this.#deps.spend(end - start);
    if (excess !== undefined) {
      this.#deps.warnings.warn("Ended the observations of a pod: it sends too much", { pod: this.#nodeId });
      this.end(GrpcStatus.RESOURCE_EXHAUSTED, excess);
      return;
    }
    // The pod sent the message before it knew that nothing is wanted any more.
    if (this.#observer?.isWatched() === false && this.#answers?.isAsked() !== true) return;
    try {
      this.#receive(decodeMessage(ObserveRequestSchema, bytes, start, end));
    } catch (error) {
      this.end(GrpcStatus.INTERNAL, malformedRequestText(error));
    }
  }

  halfClosed(): void {
    this.end(GrpcStatus.OK, "");
  }

  sent(): void {
    this.#messages.sent();
  }

  cancelled(): void {
    this.#leave();
  }

  closed(): void {
    this.#leave();
    this.#messages.closed();
    this.#deps.closed(this);
  }

  /** Ends the stream. */
  end(code: number, details: string): void {
    this.#leave();
    this.#messages.end(code, details);
  }

  #receive({ content }: ObserveRequest): void {
    if (this.#observer === undefined) {
      if (content.case === "hello") this.#meet(content.value);
      else this.end(GrpcStatus.INVALID_ARGUMENT, "the first message must be a hello");
    } else if (content.case === "observation") this.#observer.observed(content.value);
    else if (content.case === "counters") this.#answers?.answered(content.value);
    else this.end(GrpcStatus.INVALID_ARGUMENT, "only the first message may be a hello");
  }

  #meet({ nodeId, topKeys, readsCounters }: Hello): void {
    clearTimeout(this.#timer);
    this.#nodeId = nodeId;
    const state = this.#deps.findPod(nodeId);
    if (state === undefined) {
      this.end(GrpcStatus.UNAVAILABLE, "this connection has no discovery stream of that node, open one first");
      return;
    }
    const { hub } = this.#deps;
    const { fleet } = state();
    this.#answers = hub.questions.add({
      ...{ fleet, nodeId, readsCounters },
      hasDomain: (domain) => hasDomain(state().acked, domain),
      ask: (question) => this.#respond(question),
    });
    this.#observer = hub.add({
      ...{ fleet, topKeys },
      hasRule: (rule) => hasRule(state().acked, rule),
      want: (wanted) => {
        this.#wanted = wanted;
        this.#respond(undefined);
      },
    });
  }

  /** Sends what is wanted, with a question if there is one. */
  #respond(read: ReadCounters | undefined): void {
    const { totals, keysOf, hashKey } = this.#wanted;
    const response = create(ObserveResponseSchema, {
      ...{ totals, keysOf: [...keysOf] },
      ...(hashKey && { hashKey }),
      ...(read && { read }),
    });
    this.#messages.send([encodeMessage(ObserveResponseSchema, response)]);
  }

  #leave(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#observer?.left();
    this.#answers?.left();
  }
}
