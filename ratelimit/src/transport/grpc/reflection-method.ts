// The method of gRPC reflection, versions v1 and v1alpha: a stream of requests, each answered in its
// turn. Clients such as grpcurl call the service with it, without its .proto files.
import type { StreamingCall, StreamingMethod, StreamingReceiver } from "@weir/http2/grpc/method";
import { GrpcStatus, type GrpcStatusName } from "@weir/http2/grpc/status";

import { ENCODED_MESSAGE } from "@weir/http2/grpc/library-messages";
import { type EndableStream, OpenStreams } from "../open-streams.ts";
import type { answerReflection } from "./reflection-answers.ts";

/** Both versions; clients try the first and fall back to the other. */
export const REFLECTION_PATHS: readonly string[] = ["v1", "v1alpha"].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/** Most streams at a time: each belongs to a person or a tool. */
const STREAMS_MAX = 100;

/** Longest request in bytes: the name of a file or a symbol. */
const REQUEST_MAX_BYTES = 16 * 1024;

/** Most requests of a stream that wait until the client takes the answers to earlier ones. */
const WAITING_MAX = 16;

/** The open streams of a listener. */
export function createReflectionStreams(): OpenStreams<EndableStream> {
  return new OpenStreams({ what: "reflection streams", max: STREAMS_MAX });
}

/** The method. */
export function createReflection(streams: OpenStreams<EndableStream>): StreamingMethod {
  return { kind: "streaming", open: (call) => new ReflectionStream(call, streams) };
}

/** A call of the method. */
class ReflectionStream implements StreamingReceiver, EndableStream {
  readonly #call: StreamingCall;
  readonly #streams: OpenStreams<EndableStream>;
  readonly #waiting: Buffer[] = [];
  #answer: typeof answerReflection | undefined;
  /** The answer to the first waiting request, when the client did not take it yet. */
  #unsent: Uint8Array | undefined;
  #isHalfClosed = false;
  #isAnswering = false;
  #isEnded = false;

  constructor(call: StreamingCall, streams: OpenStreams<EndableStream>) {
    this.#call = call;
    this.#streams = streams;
    if (streams.add(this)) void this.#load();
  }

  message(bytes: Buffer, start: number, end: number): void {
    if (this.#isEnded) return;
    if (end - start > REQUEST_MAX_BYTES) this.end("RESOURCE_EXHAUSTED", "the request is too long");
    else if (this.#waiting.length >= WAITING_MAX) this.end("RESOURCE_EXHAUSTED", "too many requests are waiting");
    else {
      this.#waiting.push(Buffer.from(bytes.subarray(start, end)));
      this.#answerAll();
    }
  }

  halfClosed(): void {
    this.#isHalfClosed = true;
    this.#answerAll();
  }

  sent(): void {
    this.#answerAll();
  }

  cancelled(): void {
    this.#close();
  }

  end(name: GrpcStatusName, message: string): void {
    this.#close();
    this.#call.end(GrpcStatus[name], message);
  }

  async #load(): Promise<void> {
    try {
      this.#answer = (await import("./reflection-answers.ts")).answerReflection;
      this.#answerAll();
    } catch (error) {
      this.end("INTERNAL", failureText(error));
    }
  }

  #answerAll(): void {
    if (this.#isAnswering) return; // A message that is sent immediately is reported while it is being sent.
    this.#isAnswering = true;
    while (this.#canAnswer()) this.#waiting.shift();
    this.#isAnswering = false;
    if (this.#isEnded || this.#answer === undefined || this.#waiting.length > 0 || !this.#isHalfClosed) return;
    this.#close();
    this.#call.end(GrpcStatus.OK, "");
  }

  /** Answers the first waiting request; false when there is none, or the client does not read. */
  #canAnswer(): boolean {
    const [request] = this.#waiting;
    if (this.#isEnded || this.#answer === undefined || request === undefined) return false;
    try {
      this.#unsent ??= this.#answer(request);
    } catch (error) {
      this.end("INTERNAL", failureText(error));
      return false;
    }
    if (!this.#call.send(ENCODED_MESSAGE, this.#unsent)) return false;
    this.#unsent = undefined;
    return true;
  }

  #close(): void {
    this.#isEnded = true;
    this.#waiting.length = 0;
    this.#streams.delete(this);
  }
}

function failureText(error: unknown): string {
  return error instanceof Error ? error.message : "the request cannot be answered";
}
