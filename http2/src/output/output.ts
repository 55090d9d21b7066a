// The output of one connection: gathered during an event-loop turn, and sent in one piece at its end.
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { Turn, TurnTask } from "../grpc/method.ts";
import { CHUNK_BYTES, type ChunkPool } from "./chunk-pool.ts";
import { type PausableSource, type ReadGate, ReadPause } from "./read-gate.ts";
import type { Http2Counters } from "../limits/counters.ts";

/** The destination of the bytes of a connection. */
export interface ByteSink extends PausableSource {
  /**
   * Takes bytes. True when they are sent, and their buffer may be used again; otherwise
   * `Connection.sent` is called when they are. Drops bytes after `end`.
   */
  write(bytes: Buffer): boolean;
  /** The same for several buffers, in one call of the system. */
  writeAll(buffers: readonly Buffer[]): boolean;
  /** Bytes that are not sent yet. */
  unsentBytes(): number;
  /** Sends what was written, then closes the direction to the client. */
  end(): void;
  /** Closes the connection immediately. */
  destroy(): void;
  /** Reports that the client does not begin with HTTP/2, but with HTTP/1 or something else. */
  refused(preface: "http1" | "foreign"): void;
}

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

/**
 * Bytes that are written together: a call of the system costs more than they do. Not more: TLS
 * connections of Node keep memory for the largest write for good.
 */
const GATHERED_MAX_BYTES = 65_536;

/** The output. A writer reserves bytes, writes them into `chunk`, and moves `position`. */
export class Output {
  /** The chunk that is being filled. */
  chunk: Buffer = NO_CHUNK;
  /** Bytes of it that are filled. */
  position = 0;
  readonly #deps: OutputDeps;
  readonly #unsentMaxBytes: number;
  /** Output that is written in this turn and the sink does not have yet, in order, and its bytes. */
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  /** The full chunks of it. */
  #full: Buffer[] = [];
  /** The bytes of `chunk` before this position are gathered. */
  #start = 0;
  /** Bytes counted for the output that the sink has not sent. */
  #heldBytes = 0;
  /** Chunks that the sink has not sent yet. */
  #held: Buffer[] = [];
  #isScheduled = false;
  #progress = 0;

  /** From `unsentMaxBytes` on, reading is paused until everything is sent. */
  constructor(deps: OutputDeps, unsentMaxBytes: number) {
    this.#deps = deps;
    this.#unsentMaxBytes = unsentMaxBytes;
  }

  /** True if the client has taken so little that nothing more should be written. */
  get isCongested(): boolean {
    return this.#deps.gate.isPausedFor(ReadPause.UNSENT);
  }

  /** How often the sink has sent what it did not send immediately. */
  get progress(): number {
    return this.#progress;
  }

  /** True if bytes wait for the sink. */
  get isUnsent(): boolean {
    return this.#held.length > 0;
  }

  /** Makes sure that `bytes`, at most a chunk, can be written at the returned position of `chunk`. */
  reserve(bytes: number): number {
    if (this.chunk.length - this.position < bytes) this.#startChunk();
    return this.position;
  }

  /** Adds bytes without a copy, after what is written; they must not change until they are sent. */
  append(bytes: Buffer): void {
    if (this.chunk === NO_CHUNK) this.#startChunk();
    this.#gatherPart(this.chunk, this.position);
    this.#gatherBytes(bytes);
    if (this.#gatheredBytes >= GATHERED_MAX_BYTES) this.flush();
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
    if (this.#gathered.length > 0) {
      this.#gather(chunk, position);
      this.#writeGathered();
    } else if (position === 0 || this.#deps.sink.write(chunk.subarray(0, position))) this.#deps.pool.give(chunk);
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
    this.#heldBytes = 0;
    this.#deps.gate.resume(ReadPause.UNSENT);
  }

  /** The sink is gone, and what it held. */
  close(): void {
    // The chunks are not used again: a write may still be under way.
    for (const chunk of this.#held) this.#deps.budget.give(chunk.length);
    this.#held = [];
    this.#gathered = [];
    this.#full = [];
  }

  #startChunk(): void {
    if (this.chunk !== NO_CHUNK) this.#gather(this.chunk, this.position);
    if (this.#gatheredBytes > GATHERED_MAX_BYTES - CHUNK_BYTES) this.#writeGathered();
    this.position = 0;
    this.chunk = this.#deps.pool.take();
    this.schedule();
  }

  #gather(chunk: Buffer, position: number): void {
    this.#gatherPart(chunk, position);
    this.#full.push(chunk);
    this.#start = 0;
  }

  #gatherPart(chunk: Buffer, position: number): void {
    if (position > this.#start) this.#gatherBytes(chunk.subarray(this.#start, position));
    this.#start = position;
  }

  #gatherBytes(bytes: Buffer): void {
    this.#gathered.push(bytes);
    this.#gatheredBytes += bytes.length;
  }

  #writeGathered(): void {
    const { sink, pool } = this.#deps;
    const chunks = this.#full;
    const isSent = sink.writeAll(this.#gathered);
    // Bytes that are sent without a copy are kept by their owner, and count as the chunks do.
    this.#heldBytes += isSent ? 0 : Math.max(0, this.#gatheredBytes - chunks.length * CHUNK_BYTES);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#full = [];
    for (const chunk of chunks)
      if (isSent) pool.give(chunk);
      else this.#hold(chunk);
  }

  #hold(chunk: Buffer): void {
    const { budget, gate, counters } = this.#deps;
    this.#held.push(chunk);
    budget.takeAnyway(chunk.length);
    // A chunk counts as a whole, however little of it is filled: that is the memory it takes.
    this.#heldBytes += CHUNK_BYTES;
    if (this.isCongested || (this.#heldBytes < this.#unsentMaxBytes && !budget.isExhausted)) return;
    counters.readPauses += 1;
    gate.pause(ReadPause.UNSENT);
  }
}
