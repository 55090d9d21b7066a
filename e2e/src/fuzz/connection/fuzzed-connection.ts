// One connection of the HTTP/2 server without a socket. All that it sends is checked, and its end:
// it still answers a call, or it has sent GOAWAY and is closed.
import { Connection } from "@weir/http2/connection/connection";
import { hpackLimits } from "@weir/http2/connection/connection-deps";
import { Deadlines } from "@weir/http2/grpc/deadlines";
import type { Methods, TurnTask } from "@weir/http2/grpc/method";
import { FieldList } from "@weir/http2/hpack/field-list";
import { ByteBudget } from "@weir/http2/limits/byte-budget";
import { createCounters } from "@weir/http2/limits/counters";
import { DEFAULT_LIMITS, type Http2Limits } from "@weir/http2/limits/limits";
import { ChunkPool } from "@weir/http2/output/chunk-pool";
import type { ByteSink } from "@weir/http2/output/output";

import type { Random } from "@weir/harness/processes/random";
import { frame } from "@weir/harness/http2/http2-frames";
import { ClientBytes } from "./client-bytes.ts";
import { FuzzedMethods, UNKNOWN_PATH, requestBlock } from "./fuzzed-methods.ts";
import { newFieldList, ServerBytes } from "./server-bytes.ts";

/** Small bounds, so that short inputs meet them; the rest are the server's own. */
const SMALL_LIMITS: Http2Limits = {
  ...DEFAULT_LIMITS,
  concurrentStreamsMax: 4,
  callsInFlightMax: 6,
  headerListMaxBytes: 600,
  headerBlockMaxBytes: 1000,
  continuationFramesMax: 3,
  messageMaxBytes: 1000,
  unsentMaxBytes: 20_000,
  processMaxBytes: 40_000,
  controlFramesMax: 12,
  clientResetsMax: 5,
  streamErrorsMax: 4,
};

/** Beyond processMaxBytes: an incomplete frame, a header block, and the chunks of one read. */
const BUDGET_SLACK_BYTES = 512 * 1024;

const HEADERS = 1;
const PING = 6;
const END_STREAM_AND_HEADERS = 0x5;
const MAX_STREAM_ID = 0x7fff_ffff;

const REFUSED_STREAM = 7;
const UNIMPLEMENTED = 12;

/** A call that needs no entry of a table, and whose answer needs no window. */
const UNKNOWN_CALL = requestBlock([[":path", UNKNOWN_PATH]]);

/** When the clock starts, in milliseconds. */
const START_MS = 1_000_000;

/** Time that passes at most between two pieces, in milliseconds. */
const PAUSE_MAX_MS = 1500;

/** What all connections of a run share. */
export interface SharedParts {
  readonly fields: FieldList;
  readonly smallFields: FieldList;
  readonly serverFields: FieldList;
  readonly pool: ChunkPool;
  readonly deadlines: Deadlines;
  /** Milliseconds of the clock, which only runs forward. */
  nowMs: number;
}

/** Makes what all connections of a run share. */
export function createSharedParts(): SharedParts {
  return {
    fields: new FieldList(hpackLimits(DEFAULT_LIMITS)),
    smallFields: new FieldList(hpackLimits(SMALL_LIMITS)),
    serverFields: newFieldList(),
    pool: new ChunkPool(),
    deadlines: new Deadlines(START_MS, () => undefined),
    nowMs: START_MS,
  };
}

/**
 * How an input ended: the connection still answers, it was closed for a fault, gracefully, after
 * HTTP/1 or for want of a preface, or the client closed it in the middle.
 */
export type FuzzEnd = "answers" | "goaway" | "draining" | "http1" | "silent" | "closed";

/** The connection. */
export class FuzzedConnection implements ByteSink {
  readonly #random: Random;
  readonly #limits: Http2Limits;
  readonly #connection: Connection;
  readonly #client = new ClientBytes();
  readonly #server: ServerBytes;
  readonly #budget: ByteBudget;
  readonly #methods: FuzzedMethods;
  readonly #shared: SharedParts;
  readonly #tasks: TurnTask[] = [];
  #written: Buffer[] = [];
  #unsentBytes = 0;
  #isPaused = false;
  #state: "open" | "ended" | "destroyed" = "open";

  constructor(random: Random, shared: SharedParts) {
    this.#random = random;
    const isSmall = random.oneIn(2);
    this.#limits = isSmall ? SMALL_LIMITS : DEFAULT_LIMITS;
    this.#server = new ServerBytes(this.#client, shared.serverFields);
    this.#budget = new ByteBudget(this.#limits.processMaxBytes);
    this.#methods = new FuzzedMethods(random);
    this.#shared = shared;
    const turn = {
      atTurnEnd: (task: TurnTask) => void this.#tasks.push(task),
      nowMs: () => shared.nowMs,
      monotonicMs: () => shared.nowMs,
    };
    const methods: Methods = this.#methods.methods;
    this.#connection = new Connection(
      {
        methods,
        turn,
        limits: this.#limits,
        counters: createCounters(),
        pool: shared.pool,
        budget: this.#budget,
        deadlines: shared.deadlines,
        fields: isSmall ? shared.smallFields : shared.fields,
      },
      this,
      shared.nowMs,
      Infinity,
    );
  }

  /** Sends the input in pieces, with turns, time and answers in between; throws when an answer is wrong. */
  run(input: Buffer): FuzzEnd {
    const random = this.#random;
    for (let at = 0; at < input.length && this.#state === "open";) {
      const length = random.oneIn(3) ? input.length - at : random.between(1, random.oneIn(2) ? 20 : 300);
      this.#receive(input.subarray(at, at + length));
      at += length;
      if (random.oneIn(3)) continue; // More in the same turn.
      this.#turn();
      if (random.oneIn(20)) this.#pass(random.below(PAUSE_MAX_MS));
      if (this.#server.bytes > 0 && random.oneIn(200)) this.#connection.drain();
    }
    const end = random.oneIn(30) ? "closed" : this.#finish();
    this.#close();
    return end;
  }

  write(bytes: Buffer): boolean {
    if (this.#state !== "open") throw new Error("The server writes after the end");
    this.#written.push(Buffer.from(bytes));
    if (!this.#random.oneIn(6)) return this.#unsentBytes === 0;
    this.#unsentBytes += bytes.length;
    return false;
  }

  unsentBytes(): number {
    return this.#unsentBytes;
  }

  pauseReading(): void {
    this.#isPaused = true;
  }

  resumeReading(): void {
    this.#isPaused = false;
  }

  end(): void {
    this.#state = "ended";
  }

  destroy(): void {
    this.#state = "destroyed";
  }

  refused(): void {
    // The output shows it.
  }

  #receive(chunk: Buffer): void {
    if (this.#isPaused) this.#drainSink();
    this.#client.read(chunk);
    // A copy that is overwritten, because the server must not use it afterwards.
    const bytes = Buffer.from(chunk);
    this.#connection.receive(bytes);
    bytes.fill(0xee);
  }

  /** Ends a turn: answers of methods, the output, and what must be true of it. */
  #turn(): void {
    this.#methods.answerSome();
    this.#flush();
    if (this.#unsentBytes > 0 && this.#random.oneIn(2)) this.#drainSink();
    if (this.#connection.openStreams > this.#limits.concurrentStreamsMax) throw new Error("Too many streams are open");
    if (this.#connection.callsInFlight > this.#limits.callsInFlightMax) throw new Error("Too many calls are in flight");
    const usedBytes = this.#budget.usedBytes;
    if (usedBytes < 0 || usedBytes > this.#limits.processMaxBytes + BUDGET_SLACK_BYTES)
      throw new Error(`${usedBytes} bytes are kept`);
  }

  #flush(): void {
    while (this.#tasks.length > 0) for (const task of this.#tasks.splice(0)) task.runAtTurnEnd();
    const bytes = Buffer.concat(this.#written);
    this.#written = [];
    this.#server.read(bytes);
  }

  #drainSink(): void {
    this.#unsentBytes = 0;
    this.#connection.sent();
    this.#flush();
  }

  #pass(ms: number): void {
    const shared = this.#shared;
    shared.nowMs += ms;
    shared.deadlines.advance(shared.nowMs);
    if (this.#state !== "destroyed") this.#connection.tick(shared.nowMs);
    this.#flush();
  }

  /** Completes what was sent, and shows that the connection answers or is closed. */
  #finish(): FuzzEnd {
    this.#turn();
    this.#drainSink();
    if (this.#state === "open") this.#receive(this.#client.completion());
    if (this.#state === "open") this.#receive(this.#client.completion()); // The preface had no SETTINGS.
    this.#turn();
    this.#drainSink();
    if (this.#state === "open" && this.#server.bytes === 0) return this.#assertTimesOut();
    if (this.#state === "open") return this.#assertAnswers();
    this.#assertClosed();
    return this.#endOf();
  }

  #endOf(): FuzzEnd {
    if (this.#server.isHttp1) return "http1";
    return this.#server.goaway === 0 ? "draining" : "goaway";
  }

  /** What may still become a request of HTTP/1 is waited for, but not for long. */
  #assertTimesOut(): FuzzEnd {
    this.#pass(this.#limits.prefaceTimeoutMs);
    if (!this.#hasEnded()) throw new Error("A connection without a preface stays open");
    return "silent";
  }

  #assertAnswers(): FuzzEnd {
    const { pongs } = this.#server;
    const { openStreams } = this.#connection;
    const id = this.#client.lastId + (this.#client.lastId % 2 === 0 ? 1 : 2);
    const isIdLeft = id <= MAX_STREAM_ID;
    if (isIdLeft) this.#receive(frame(HEADERS, END_STREAM_AND_HEADERS, id, UNKNOWN_CALL));
    if (this.#state === "open") this.#receive(frame(PING, 0, 0, Buffer.from("liveness")));
    this.#turn();
    this.#drainSink();
    if (this.#state !== "open") {
      this.#assertClosed();
      return this.#endOf();
    }
    if (this.#server.pongs !== pongs + 1) throw new Error("The last PING is not acknowledged");
    if (this.#server.goaway === 0) return "draining";
    if (!isIdLeft) return "answers";
    const end = this.#server.ends.get(id);
    const isRefused = end?.kind === "reset" && end.code === REFUSED_STREAM;
    if (isRefused && openStreams >= this.#limits.concurrentStreamsMax) return "answers";
    if (end?.kind !== "grpc" || end.code !== UNIMPLEMENTED)
      throw new Error(`The last call is answered with ${JSON.stringify(end)}`);
    return "answers";
  }

  #hasEnded(): boolean {
    return this.#state !== "open";
  }

  #assertClosed(): void {
    const { goaway, isHttp1 } = this.#server;
    if (!isHttp1 && goaway === undefined) throw new Error("It closes without GOAWAY");
  }

  /** The client closes: nothing is kept or sent any more, also when methods answer later. */
  #close(): void {
    this.#written = []; // Whatever was on its way.
    this.#connection.closed();
    this.#methods.answerAll();
    for (const task of this.#tasks.splice(0)) task.runAtTurnEnd();
    if (this.#written.length > 0) throw new Error("The server writes to a connection that is closed");
    if (this.#budget.usedBytes !== 0) throw new Error(`${this.#budget.usedBytes} bytes are kept after the end`);
    if (this.#connection.openStreams !== 0) throw new Error("Streams are open after the end");
    if (this.#shared.deadlines.count !== 0) throw new Error("Deadlines are kept after the end");
    if (this.#connection.callsInFlight !== 0) throw new Error("Calls are in flight after the end");
  }
}
