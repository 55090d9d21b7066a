// The streams of one kind that are open on a listener: so many at most, and none once it drains.
import type { GrpcStatusName } from "@weir/http2/grpc/status";

/** A stream that the service can end. */
export interface EndableStream {
  /** Ends the stream with a status other than OK. */
  end(status: GrpcStatusName, message: string): void;
}

/** Options of a set of streams. */
export interface OpenStreamsOptions {
  /** Their name for messages, in the plural. */
  readonly what: string;
  /** Most at a time. */
  readonly max: number;
}

/** The streams, which have no end of their own and would delay that of the service. */
export class OpenStreams<Stream extends EndableStream> implements Iterable<Stream> {
  readonly #options: OpenStreamsOptions;
  readonly #streams = new Set<Stream>();
  #isEnded = false;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
  }

  /** Adds a stream; false when it was ended instead. */
  add(stream: Stream): boolean {
    const { what, max } = this.#options;
    if (this.#isEnded) stream.end("UNAVAILABLE", "the server is shutting down");
    else if (this.#streams.size >= max) stream.end("RESOURCE_EXHAUSTED", `too many ${what}, the maximum is ${max}`);
    else {
      this.#streams.add(stream);
      return true;
    }
    return false;
  }

  /** Forgets a stream that has ended. */
  delete(stream: Stream): void {
    this.#streams.delete(stream);
  }

  /** Ends all streams, and every later one immediately. */
  end(): void {
    this.#isEnded = true;
    for (const stream of this.#streams) stream.end("UNAVAILABLE", "the server is shutting down");
    this.#streams.clear();
  }

  [Symbol.iterator](): Iterator<Stream> {
    return this.#streams.values();
  }
}
