// Runs inputs against connections of the HTTP/2 server, and says with which seed one can be run again.
import { Random } from "@weir/harness/processes/random";
import { RandomFrames } from "./random-frames.ts";
import { damagedRecording } from "./recorded-inputs.ts";
import { createSharedParts, FuzzedConnection, type FuzzEnd } from "./fuzzed-connection.ts";

/** Makes one input. */
export type MakeInput = (random: Random) => Buffer;

/** The kinds of inputs. */
export const INPUT_KINDS: readonly { readonly name: string; readonly make: MakeInput }[] = [
  { name: "random frames", make: (random) => new RandomFrames(random).session() },
  { name: "damaged recordings of grpc-js, nghttp2 and Envoy", make: damagedRecording },
];

/** How many inputs ended in which way. */
export type FuzzEnds = Record<FuzzEnd, number>;

/** Runs so many inputs; throws at the first that is not answered as it should be. */
export function runInputs(make: MakeInput, seed: number, count: number): FuzzEnds {
  const ends: FuzzEnds = { answers: 0, goaway: 0, draining: 0, http1: 0, silent: 0, closed: 0 };
  const shared = createSharedParts();
  const seeds = new Random(seed);
  for (let number = 0; number < count; number++) {
    const random = seeds.fork();
    const input = make(random);
    try {
      ends[new FuzzedConnection(random, shared).run(input)]++;
    } catch (cause) {
      const again = `input ${number} of seed ${seed}: ${input.toString("hex")}`;
      throw new Error(`${cause instanceof Error ? cause.message : String(cause)}; ${again}`, { cause });
    }
  }
  return ends;
}
