// A fuzzed connection without a socket: reads, turns, time and the answers of methods mix at random, and its
// bounds and memory are checked.
import { Random } from "@weir/harness/processes/random";

import { ByteClient } from "../connection/byte-client.suite.ts";
import type { ReceivedFrame } from "../connection/received-frames.suite.ts";
import { BYTES, TestService } from "../grpc/test-service.suite.ts";
import type { MakeInput } from "./inputs.suite.ts";
import { type FuzzEnd, type FuzzedConnection, runInput } from "./run-input.suite.ts";

/** Small bounds, so that short inputs meet them; the rest are the server's own. */
const SMALL_LIMITS = {
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

/** Time that passes at most between two pieces, in milliseconds. */
const PAUSE_MAX_MS = 1500;

/** Most answers of a streaming call per turn. */
const SENDS_MAX = 3;

/** How many inputs ended in which way. */
type FuzzEnds = Record<FuzzEnd, number>;

/** Runs so many inputs; throws at the first that is not answered as it should be. */
export async function runInputs(make: MakeInput, seed: number, count: number): Promise<FuzzEnds> {
  const ends: FuzzEnds = { answers: 0, goaway: 0, draining: 0, http1: 0, silent: 0, closed: 0 };
  const seeds = new Random(seed);
  for (let number = 0; number < count; number++) {
    const random = seeds.fork();
    const input = make(random);
    try {
      ends[await runInput(input, new MemoryConnection(random), random)]++;
    } catch (cause) {
      const again = `input ${number} of seed ${seed}: ${input.toString("hex")}`;
      throw new Error(`${cause instanceof Error ? cause.message : String(cause)}; ${again}`, { cause });
    }
  }
  return ends;
}

class MemoryConnection implements FuzzedConnection {
  onFrames: (frames: readonly ReceivedFrame[]) => void = () => undefined;
  readonly isLossless = true;
  readonly #random: Random;
  readonly #service = new TestService("/fuzz.Service/");
  readonly #client: ByteClient;
  #hasAnswered = false;

  constructor(random: Random) {
    this.#random = random;
    this.#client = new ByteClient(random.oneIn(2) ? SMALL_LIMITS : {}, Infinity, this.#service);
    this.#service.onSent = (call) => {
      if (random.oneIn(3)) call.send(BYTES, Buffer.alloc(random.below(300)));
    };
  }

  get isOpen(): boolean {
    return this.#client.sink.state === "open";
  }

  get isHttp1(): boolean {
    return this.#client.reader.isHttp1;
  }

  get isFull(): boolean {
    return this.#client.connection.openStreams >= this.#client.limits.concurrentStreamsMax;
  }

  send(bytes: Buffer): void {
    const random = this.#random;
    if (this.#client.sink.isPaused) this.#read(this.#client.drainSink());
    this.#client.sink.isFast = !random.oneIn(6);
    this.#client.receive(bytes);
    if (random.oneIn(3)) return; // More in the same turn.
    this.#turn();
    if (random.oneIn(20)) this.#read(this.#client.wait(random.below(PAUSE_MAX_MS)));
    if (this.#hasAnswered && random.oneIn(200)) this.#client.connection.drain();
  }

  settle(): void {
    this.#turn();
    this.#read(this.#client.drainSink());
  }

  expire(): void {
    this.#client.wait(this.#client.limits.prefaceTimeoutMs);
    if (this.isOpen) throw new Error("A connection without a preface stays open");
  }

  /** The client closes: nothing is kept or sent any more, also when methods answer later. */
  close(): void {
    const { connection, sink, budget, deadlines } = this.#client;
    sink.written = []; // Whatever was on its way.
    sink.destroy();
    connection.closed();
    answerCalls(this.#service, this.#random, true);
    if (this.#client.turn().length > 0) throw new Error("The server writes to a connection that is closed");
    const kept = [budget.usedBytes, connection.openStreams, deadlines.count, connection.callsInFlight];
    if (kept.some((count) => count !== 0))
      throw new Error(`Bytes, streams, deadlines and calls are kept after the end: ${kept.join(", ")}`);
  }

  /** Ends a turn: answers of methods, the output, and what must be true of it. */
  #turn(): void {
    const { connection, sink, budget, limits } = this.#client;
    answerCalls(this.#service, this.#random);
    this.#read(this.#client.turn());
    if (sink.pendingBytes > 0 && this.#random.oneIn(2)) this.#read(this.#client.drainSink());
    if (connection.openStreams > limits.concurrentStreamsMax) throw new Error("Too many streams are open");
    if (connection.callsInFlight > limits.callsInFlightMax) throw new Error("Too many calls are in flight");
    if (budget.usedBytes < 0 || budget.usedBytes > limits.processMaxBytes + BUDGET_SLACK_BYTES)
      throw new Error(`${budget.usedBytes} bytes are kept`);
  }

  #read(frames: readonly ReceivedFrame[]): void {
    this.#hasAnswered ||= frames.length > 0;
    this.onFrames(frames);
  }
}

/** Responses some of the calls that wait, or all. */
export function answerCalls({ waiting, chats, headers }: TestService, random: Random, isAll = false): void {
  if (headers.splice(0).some((each) => each["content-type"] === undefined))
    throw new Error("A call has no content-type");
  while (waiting.length > 0 && (isAll || !random.oneIn(3))) {
    const [call] = waiting.splice(random.below(waiting.length), 1);
    if (random.oneIn(3)) call?.fail(random.below(17), "later");
    else call?.reply(BYTES, Buffer.alloc(random.below(200)));
  }
  for (const call of chats.slice()) {
    for (let sends = random.below(SENDS_MAX); sends > 0; sends--) call.send(BYTES, Buffer.alloc(random.below(3000)));
    if (!isAll && !random.oneIn(4)) continue;
    chats.splice(chats.indexOf(call), 1);
    call.end(random.below(17), "the end");
  }
}
