// Samples allocations while it runs, so that a heap profile shows at any time which code holds
// memory. At its interval it costs a decision a few tenths of a percent.
import type { Session } from "node:inspector/promises";

import type { SampledHeap } from "./heap-profile.ts";

/**
 * Mean distance of two samples, in bytes: about twice that of Go. It is a multiple of most sizes
 * that objects have (2^8 · 3^2 · 5 · 7 · 13), which lets heap-profile.ts count them.
 */
export const SAMPLING_INTERVAL_BYTES = 1_048_320;

/** Most frames of a stack that are kept. */
const STACK_DEPTH = 64;

/** The sampler. */
export class HeapSampler {
  #session: Session | undefined;

  /** Begins; what was allocated before is not in any profile. */
  async start(): Promise<void> {
    // Loaded here, so that the process is ready earlier.
    const inspector = await import("node:inspector/promises");
    this.#session = new inspector.Session();
    this.#session.connect();
    await this.#session.post("HeapProfiler.startSampling", {
      samplingInterval: SAMPLING_INTERVAL_BYTES,
      stackDepth: STACK_DEPTH,
    });
  }

  /** Ends sampling. */
  stop(): void {
    this.#session?.disconnect();
    this.#session = undefined;
  }

  /** What is in use now, after a garbage collection. */
  async profile(): Promise<SampledHeap> {
    if (this.#session === undefined) throw new TypeError("Cannot take a heap profile: the sampler does not run");
    // Its published type lacks the samples and the identifiers of nodes.
    return (await this.#session.post("HeapProfiler.getSamplingProfile")).profile as unknown as SampledHeap;
  }
}
