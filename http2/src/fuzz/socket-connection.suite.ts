// A fuzzed connection over a socket, of any server of gRPC.
import { Wire, type WireAddress } from "@weir/harness/http2/wire";
import type { Random } from "@weir/harness/processes/random";

import { type ReceivedFrame, ServerReader } from "../connection/received-frames.suite.ts";
import type { MakeInput } from "./inputs.suite.ts";
import { type FuzzedConnection, runInput } from "./run-input.suite.ts";

/**
 * Longest wait for an answer, in milliseconds: much more than it takes, and more than the server waits for the
 * beginning of a connection.
 */
const ANSWER_MS = 60_000;

/** How long a listener for TLS has to close what begins without it, in milliseconds. */
const PLAIN_MS = 30;

/** Steps of an input: a beginning, some frames, or many calls that share a connection. */
const STEPS = [1, 20, 100, 100] as const;

class SocketConnection implements FuzzedConnection {
  onFrames: (frames: readonly ReceivedFrame[]) => void = () => undefined;
  readonly isFull = true;
  readonly isLossless = false;
  readonly #wire: Wire;
  readonly #reader = new ServerReader();
  #fault: Error | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.onData = (chunk) => {
      try {
        this.onFrames(this.#reader.read(chunk));
      } catch (fault) {
        this.#fault ??= fault as Error;
      }
    };
  }

  get isOpen(): boolean {
    return !this.#wire.isClosed;
  }

  get isHttp1(): boolean {
    return this.#reader.isHttp1;
  }

  send(bytes: Buffer): void {
    this.#wire.write(bytes);
  }

  async settle(isDone: () => boolean): Promise<void> {
    await this.#wire.until(() => this.#fault !== undefined || isDone(), ANSWER_MS);
    if (this.#fault !== undefined) throw this.#fault;
  }

  expire(): void {
    throw new Error("A connection without a preface stays open"); // The wait for an answer was long enough.
  }

  close(): void {
    this.#wire.destroy();
  }
}

/** Sends one input over a connection of its own; throws when the answers are wrong. Returns its steps and bytes. */
export async function fuzzSocket(
  address: WireAddress,
  make: MakeInput,
  random: Random,
): Promise<{ readonly steps: number; readonly bytes: number }> {
  const steps = random.pick(STEPS);
  const input = make(random, steps);
  const isPlain = address.kind === "tls" && random.oneIn(10);
  const wire = await Wire.open(address, isPlain);
  if (isPlain) {
    wire.write(input);
    await wire.finish(PLAIN_MS);
  } else {
    try {
      await runInput(input, new SocketConnection(wire), random);
    } catch (cause) {
      throw new Error(`${(cause as Error).message}; input: ${input.toString("hex")}`, { cause });
    }
  }
  return { steps, bytes: input.length };
}
