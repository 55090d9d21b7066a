// Sends inputs to one listener, over many connections at a time. What an input is made of is the
// inputs' files; whether the process stands it is asked by fuzzed-service.ts.
import { ANSWER_START, brokenRequest, type Http1Target, oddRequest } from "./http1-inputs.ts";
import { brokenFrames, brokenMessage, createPongReader, noSession, ping } from "./http2-inputs.ts";
import { openingBytes, placesOf } from "@weir/harness/http2/http2-frames";
import type { Random } from "@weir/harness/processes/random";
import { Wire, type WireAddress } from "./wire.ts";

/**
 * Connections at a time: fewer than the smallest listener takes, and so many that waiting for quiet
 * ones keeps no session idle.
 */
const PARALLEL = 96;

/**
 * How long nothing may come back before an input counts as incomplete, and how long the server has
 * to close after our end, in milliseconds.
 */
const QUIET_MS = 30;
const CLOSE_MS = 1000;

/**
 * Inputs of one piece of work; it has a seed of its own, so that what others do changes nothing in
 * it.
 */
const MESSAGES_PER_JOB = 100;
const FRAMES_PER_JOB = 20;
const REQUESTS_PER_JOB = 40;
const BEGINNINGS_PER_JOB = 10;

/** Calls in front of one ping, and requests whose answers are awaited together. */
const CALLS_PER_PING = 20;
const REQUESTS_PER_WAIT = 10;

/** A listener to send to. */
export interface FuzzTarget {
  readonly name: string;
  readonly address: WireAddress;
  /** What it speaks: gRPC, or HTTP/1.1 about something. */
  readonly speaks: "grpc" | Http1Target;
}

/** What was sent. */
export interface FuzzTotals {
  inputs: number;
  bytes: number;
  connections: number;
}

/** Sends at least `inputs` inputs, and adds them to `totals` as they are sent. */
export async function fuzzListener(
  target: FuzzTarget,
  random: Random,
  inputs: number,
  totals: FuzzTotals,
): Promise<void> {
  const end = totals.inputs + inputs;
  const work = async (): Promise<void> => {
    while (totals.inputs < end) await runJob(target, random.fork(), totals);
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

async function runJob(target: FuzzTarget, random: Random, totals: FuzzTotals): Promise<void> {
  if (target.speaks !== "grpc") {
    const isBroken = random.oneIn(5);
    await sendRequests(target, random, totals, {
      perWait: isBroken ? 1 : REQUESTS_PER_WAIT,
      make: isBroken ? brokenRequest : oddRequest,
      about: target.speaks,
    });
    return;
  }
  // A handshake costs more than all else: over TLS most inputs share one.
  const kind = random.below(10);
  if (kind === 0) await sendBeginnings(target, random, totals);
  else if (kind <= (target.address.kind === "tls" ? 2 : 3))
    await sendCalls(target, random, totals, { count: FRAMES_PER_JOB, perPing: 1, make: brokenFrames });
  else
    await sendCalls(target, random, totals, { count: MESSAGES_PER_JOB, perPing: CALLS_PER_PING, make: brokenMessage });
}

interface Requests {
  readonly perWait: number;
  readonly make: (random: Random, about: Http1Target) => Buffer;
  readonly about: Http1Target;
}

async function sendRequests(
  target: FuzzTarget,
  random: Random,
  totals: FuzzTotals,
  { perWait, make, about }: Requests,
): Promise<void> {
  let wire: Wire | undefined;
  for (let sent = 0; sent < REQUESTS_PER_JOB; sent += perWait) {
    if (wire === undefined || wire.isClosed) {
      wire = await Wire.open(target.address);
      totals.connections += 1;
    }
    let answers = 0;
    wire.onData = (chunk) => {
      answers += placesOf(ANSWER_START, chunk).length;
      return answers >= perWait;
    };
    for (let index = 0; index < perWait; index++) write(wire, make(random, about), totals);
    if ((await wire.wait(QUIET_MS)) === "quiet") {
      await wire.finish(CLOSE_MS); // The server waits for the rest; that was all.
      wire = undefined;
    }
  }
  await wire?.finish(CLOSE_MS);
}

async function sendBeginnings(target: FuzzTarget, random: Random, totals: FuzzTotals): Promise<void> {
  for (let sent = 0; sent < BEGINNINGS_PER_JOB; sent++) {
    const wire = await Wire.open(target.address, !random.oneIn(4));
    totals.connections += 1;
    write(wire, noSession(random), totals);
    await wire.wait(QUIET_MS);
    await wire.finish(QUIET_MS);
  }
}

interface Calls {
  readonly count: number;
  readonly perPing: number;
  readonly make: (random: Random, streamId: number) => Buffer;
}

async function sendCalls(
  target: FuzzTarget,
  random: Random,
  totals: FuzzTotals,
  { count, perPing, make }: Calls,
): Promise<void> {
  let session: Session | undefined;
  for (let sent = 0; sent < count; sent += perPing) {
    if (session === undefined || session.wire.isClosed) {
      session = new Session(await Wire.open(target.address));
      totals.connections += 1;
    }
    for (let call = 0; call < perPing; call++) write(session.wire, make(random, session.nextStream()), totals);
    if (!(await session.isRead())) {
      session.wire.destroy(); // A frame that is not complete swallows the ping, and everything else that would come.
      session = undefined;
    }
  }
  // Some go without a word, others say goodbye.
  if (random.oneIn(2)) session?.wire.destroy();
  else await session?.wire.finish(CLOSE_MS);
}

/** An HTTP/2 session: numbers its streams, and asks by pings whether everything was read. */
class Session {
  readonly wire: Wire;
  #stream = -1;
  #pings = 0;
  #pongs = 0;

  constructor(wire: Wire) {
    this.wire = wire;
    const read = createPongReader((number) => (this.#pongs = number));
    wire.onData = (chunk) => {
      read(chunk);
      return this.#pongs === this.#pings;
    };
    wire.write(openingBytes());
  }

  nextStream(): number {
    this.#stream += 2;
    return this.#stream;
  }

  async isRead(): Promise<boolean> {
    this.#pings += 1;
    this.wire.write(ping(this.#pings));
    return (await this.wire.wait(QUIET_MS * 2)) === "answered";
  }
}

function write(wire: Wire, bytes: Buffer, totals: FuzzTotals): void {
  totals.inputs += 1;
  totals.bytes += bytes.length;
  wire.write(bytes);
}
