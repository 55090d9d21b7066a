// The output of one connection: gathered during an event-loop turn, and sent in one piece at its end.
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { Turn, TurnTask } from "../grpc/method.ts";
import { CHUNK_BYTES, type ChunkPool } from "./chunk-pool.ts";
import { type PausableSource, type ReadGate, ReadPause } from "./read-gate.ts";
import type { Http2Counters } from "../limits/counters.ts";

/** Where the bytes of a connection go. */
export interface ByteSink extends PausableSource {
  /**
   * Takes bytes. True when they are sent, and their buffer may be used again; otherwise
   * `Connection.sent` is called when they are. Drops bytes after `end`.
   */
  write(bytes: Buffer): boolean;
  /** Bytes that are not sent yet. */
  unsentBytes(): number;
  /** Sends what was written, then closes the direction to the client. */
  end(): void;
  /** Closes the connection immediately. */
  destroy(): void;
  /** Reports that the client does not begin with HTTP/2, but with HTTP/1 or something else. */
  refused(preface: "http1" | "foreign"): void;
}

/** What outputs share. */
export interface OutputDeps {
  readonly sink: ByteSink;
  readonly gate: ReadGate;
  readonly pool: ChunkPool;
  readonly budget: ByteBudget;
  readonly turn: Turn;
  /** Calls {@link Output.runAtTurnEnd}. */
  readonly task: TurnTask;
  readonly counters: Http2Counters;
}

const NO_CHUNK: Buffer = Buffer.alloc(0);

/** The output. A writer reserves bytes, writes them into `chunk`, and moves `position`. */
export class Output {
  /** The chunk that is being filled. */
  chunk: Buffer = NO_CHUNK;
  /** Bytes of it that are filled. */
  position = 0;
  readonly #deps: OutputDeps;
  readonly #unsentMaxBytes: number;
  /** Chunks that the sink has not sent yet. */
  #held: Buffer[] = [];
  #isScheduled = false;
  #progress = 0;

  /** From `unsentMaxBytes` on, reading is paused until everything is sent. */
  constructor(deps: OutputDeps, unsentMaxBytes: number) {
    this.#deps = deps;
    this.#unsentMaxBytes = unsentMaxBytes;
  }

  /** Whether the client has taken so little that nothing more should be written. */
  get isCongested(): boolean {
    return this.#deps.gate.isPausedFor(ReadPause.UNSENT);
  }

  /** How often the sink has sent what it did not send immediately. */
  get progress(): number {
    return this.#progress;
  }

  /** Whether bytes wait for the sink. */
  get isUnsent(): boolean {
    return this.#held.length > 0;
  }

  /** Makes sure that `bytes`, at most a chunk, can be written at the returned position of `chunk`. */
  reserve(bytes: number): number {
    if (this.chunk.length - this.position < bytes) this.#startChunk();
    return this.position;
  }

  /** Makes sure that {@link OutputDeps.task} runs at the end of this turn. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.turn.atTurnEnd(this.#deps.task);
  }

  /** Sends what was written in this turn. */
  runAtTurnEnd(): void {
    this.#isScheduled = false;
    this.flush();
  }

  /** Sends what was written so far. */
  flush(): void {
    const { chunk, position } = this;
    this.chunk = NO_CHUNK;
    this.position = 0;
    if (chunk === NO_CHUNK) return;
    if (position === 0 || this.#deps.sink.write(chunk.subarray(0, position))) this.#deps.pool.give(chunk);
    else this.#hold(chunk);
  }

  /** The sink has sent what it did not send immediately: all of it, or some. */
  sent(): void {
    this.#progress += 1;
    if (this.#deps.sink.unsentBytes() > 0) return;
    for (const chunk of this.#held) {
      this.#deps.budget.give(chunk.length);
      this.#deps.pool.give(chunk);
    }
    this.#held = [];
    this.#deps.gate.resume(ReadPause.UNSENT);
  }

  /** The sink is gone, and what it held. */
  close(): void {
    // The chunks are not used again: a write may still be under way.
    for (const chunk of this.#held) this.#deps.budget.give(chunk.length);
    this.#held = [];
  }

  #startChunk(): void {
    this.flush();
    this.chunk = this.#deps.pool.take();
    this.schedule();
  }

  #hold(chunk: Buffer): void {
    const { budget, gate, counters } = this.#deps;
    this.#held.push(chunk);
    budget.takeAnyway(chunk.length);
    // A chunk counts as a whole, however little of it is filled: that is the memory it takes.
    const heldBytes = this.#held.length * CHUNK_BYTES;
    if (this.isCongested || (heldBytes < this.#unsentMaxBytes && !budget.isExhausted)) return;
    counters.readPauses += 1;
    gate.pause(ReadPause.UNSENT);
  }
}
