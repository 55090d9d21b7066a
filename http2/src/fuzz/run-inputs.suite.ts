// Runs inputs against connections in memory, and says with which seed one can be run again.
import { Random } from "@weir/harness/processes/random";
import type { MakeInput } from "./inputs.suite.ts";
import { MemoryConnection } from "./memory-connection.suite.ts";
import { type FuzzEnd, runInput } from "./run-input.suite.ts";

/** How many inputs ended in which way. */
export type FuzzEnds = Record<FuzzEnd, number>;

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
