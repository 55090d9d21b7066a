// One call of a streaming discovery method: passes requests to the stream of its pod, and sees to it
// that a call that was refused is closed.
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { decodeMessage } from "@weir/http2/grpc/library-messages";
import { malformedRequestText } from "@weir/http2/grpc/malformed-message";
import { MessageQueue } from "@weir/http2/grpc/message-queue";
import type { StreamingCall, StreamingReceiver } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

import type { CallRefusal } from "./ads-security.ts";
import type { PodChannel, PodStream } from "./stream/pod-stream.ts";
import type { StreamKind } from "./stream/request-violation.ts";
import type { PodRequest } from "./stream/variant.ts";

/** How long a client may take to read why its stream ends, in milliseconds; then the stream is reset. */
const RESET_AFTER_MS = 1000;

/** Largest request, in bytes, but for the first one of the incremental variant, which lists what the pod holds. */
const REQUEST_MAX_BYTES = 1024 * 1024;

export interface PodCallDeps {
  readonly createStream: (channel: PodChannel) => PodStream;
  /** Refuses a request whose node is not that of the client. */
  readonly refuseNode: (node: Node | undefined) => CallRefusal | undefined;
  readonly warnings: RateLimitedLog;
  /** Counts a client that sends no request. */
  readonly silent: () => void;
  /** The stream is closed. */
  readonly closed: (call: PodCall) => void;
}

export interface PodCallOptions {
  /** Address and port of the client. */
  readonly peer: string;
  readonly kind: StreamKind;
  /** How long the first request may take, in milliseconds. */
  readonly firstRequestMaxMs: number;
}

/** The call, which ends once; its stream is closed then or later. */
export class PodCall implements StreamingReceiver, PodChannel {
  readonly peer: string;
  readonly stream: PodStream;
  readonly #deps: PodCallDeps;
  readonly #messages: MessageQueue;
  readonly #firstRequestTimer: NodeJS.Timeout;
  #resetTimer: NodeJS.Timeout | undefined;
  readonly #kind: StreamKind;
  #isFirst = true;
  #isEnded = false;

  constructor(call: StreamingCall, deps: PodCallDeps, { peer, kind, firstRequestMaxMs }: PodCallOptions) {
    this.peer = peer;
    this.#kind = kind;
    this.#deps = deps;
    this.#messages = new MessageQueue(() => call);
    this.stream = deps.createStream(this);
    this.#firstRequestTimer = setTimeout(() => this.#endSilent(firstRequestMaxMs), firstRequestMaxMs);
  }

  message(bytes: Buffer, start: number, end: number): void {
    if (this.#isEnded) return;
    clearTimeout(this.#firstRequestTimer);
    const mayBeLarge = this.#kind === "delta" && this.#isFirst;
    this.#isFirst = false;
    if (end - start > REQUEST_MAX_BYTES && !mayBeLarge) {
      const text = `the request has ${end - start} bytes, at most ${REQUEST_MAX_BYTES} are allowed`;
      this.#refuse(GrpcStatus.RESOURCE_EXHAUSTED, text);
      return;
    }
    try {
      // One at a time: what a large request becomes is memory that no bound of the listener counts.
      const schema = this.#kind === "delta" ? DeltaDiscoveryRequestSchema : DiscoveryRequestSchema;
      this.#receive(
        decodeMessage<typeof DeltaDiscoveryRequestSchema | typeof DiscoveryRequestSchema>(schema, bytes, start, end),
      );
    } catch (error) {
      this.#refuse(GrpcStatus.INTERNAL, malformedRequestText(error));
    }
  }

  halfClosed(): void {
    this.stream.halfClosed(() => this.#messages.end(GrpcStatus.OK, ""));
  }

  sent(): void {
    this.#messages.sent();
  }

  /** Also when the connection refuses the call. A client that keeps the stream open then holds no place by that. */
  cancelled(): void {
    this.#resetSoon();
    this.#end();
  }

  closed(): void {
    clearTimeout(this.#resetTimer);
    this.#end();
    this.#messages.closed();
    this.#deps.closed(this);
  }

  send(chunks: readonly Buffer[], written: () => void): void {
    this.#messages.send(chunks, written);
  }

  hung(waitedMs: number): void {
    const { peer, stream } = this;
    this.#deps.warnings.warn("Ended an ADS stream, the pod hangs", { pod: stream.podName(), peer, waitedMs });
    this.#refuse(GrpcStatus.DEADLINE_EXCEEDED, `nothing came within ${waitedMs} ms`);
  }

  /** Ends the call after the response that is being sent, however long that takes. */
  leave({ code, details }: CallRefusal): void {
    this.#end();
    this.#messages.end(code, details);
  }

  #receive(request: PodRequest): void {
    const denied = this.#deps.refuseNode(request.node);
    if (denied !== undefined) {
      this.#refuse(denied.code, denied.details);
      return;
    }
    const violation = this.stream.receive(request);
    if (violation === undefined) return;
    const fields = { pod: this.stream.podName(), peer: this.peer, text: violation };
    this.#deps.warnings.warn("Ended an ADS stream, the client violated the protocol", fields);
    this.#refuse(GrpcStatus.INVALID_ARGUMENT, violation);
  }

  #endSilent(waitedMs: number): void {
    this.#deps.silent();
    this.#deps.warnings.warn("Ended an ADS stream, the client sent no request", { peer: this.peer, waitedMs });
    this.#refuse(GrpcStatus.DEADLINE_EXCEEDED, `no request came within ${waitedMs} ms`);
  }

  /** Ends the call; a client that does not take the status for a while keeps no stream by that. */
  #refuse(code: number, details: string): void {
    this.#resetSoon();
    this.leave({ code, details });
  }

  #resetSoon(): void {
    this.#resetTimer ??= setTimeout(() => this.#messages.reset(), RESET_AFTER_MS);
  }

  #end(): void {
    this.#isEnded = true;
    clearTimeout(this.#firstRequestTimer);
    this.stream.ended();
  }
}
