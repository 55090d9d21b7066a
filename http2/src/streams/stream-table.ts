// The open streams of one connection, and what is remembered of closed ones.
import { ClosedStreams } from "./closed-streams.ts";
import type { Stream } from "./stream.ts";

/** The streams. */
export class StreamTable {
  /** How the closed streams have ended. */
  readonly closed = new ClosedStreams();
  /** The highest identifier that the client has opened. */
  lastId = 0;
  /** The stream opened last. Most are answered before the next one is opened, and never held. */
  #latest: Stream | undefined;
  readonly #held = new Map<number, Stream>();
  readonly #onHold: (stream: Stream) => void;

  /** `onHold` receives each stream that outlives the frames in which it was received. */
  constructor(onHold: (stream: Stream) => void) {
    this.#onHold = onHold;
  }

  /** Open streams. */
  get size(): number {
    return this.#held.size + (this.#latest === undefined ? 0 : 1);
  }

  /** An open stream. */
  find(streamId: number): Stream | undefined {
    return this.#latest?.id === streamId ? this.#latest : this.#held.get(streamId);
  }

  /** Returns true if the client may open a stream with this identifier: those that it leaves out are closed. */
  accept(streamId: number): boolean {
    if ((streamId & 1) === 0 || streamId <= this.lastId) return false;
    const next = this.lastId === 0 ? 1 : this.lastId + 2;
    if (streamId !== next) this.closed.noteSkipped(next, streamId - 2);
    this.lastId = streamId;
    return true;
  }

  add(stream: Stream): void {
    this.hold();
    this.#latest = stream;
  }

  /** Holds the stream opened last: before the next header block, and after each read. */
  hold(): void {
    const latest = this.#latest;
    if (latest === undefined) return;
    this.#latest = undefined;
    this.#held.set(latest.id, latest);
    this.#onHold(latest);
  }

  remove(stream: Stream): void {
    if (stream === this.#latest) this.#latest = undefined;
    else this.#held.delete(stream.id);
  }

  /** The open streams; they may be removed meanwhile. */
  *[Symbol.iterator](): Iterator<Stream> {
    if (this.#latest !== undefined) yield this.#latest;
    yield* this.#held.values();
  }
}
