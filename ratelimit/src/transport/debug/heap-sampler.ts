// Samples allocations for as long as it runs, so that a heap profile can say at any time which code
// holds memory. At its interval it costs a decision a few tenths of a percent.
import type { Session } from "node:inspector/promises";

import type { SampledHeap } from "./heap-profile.ts";

/**
 * Mean distance of two samples, in bytes: about twice that of Go. It is a multiple of most sizes
 * that objects have (2^8 · 3^2 · 5 · 7 · 13), which lets heap-profile.ts tell how many there are.
 */
export const SAMPLING_INTERVAL_BYTES = 1_048_320;

/** Most frames of a stack that are kept. */
const STACK_DEPTH = 64;

/** The sampler. */
export interface HeapSampler {
  /** Begins; what was allocated before is not in any profile. */
  start(): Promise<void>;
  stop(): void;
  /** What is in use now, after a garbage collection. */
  profile(): Promise<SampledHeap>;
}

/** Makes a sampler. */
export function createHeapSampler(): HeapSampler {
  let session: Session | undefined;
  return {
    async start() {
      // Loaded here: the process is ready before.
      const inspector = await import("node:inspector/promises");
      session = new inspector.Session();
      session.connect();
      await session.post("HeapProfiler.startSampling", {
        samplingInterval: SAMPLING_INTERVAL_BYTES,
        stackDepth: STACK_DEPTH,
      });
    },
    stop() {
      session?.disconnect();
      session = undefined;
    },
    async profile() {
      if (session === undefined) throw new TypeError("Cannot take a heap profile: the sampler does not run");
      // Its published type lacks the samples and the identifiers of nodes.
      return (await session.post("HeapProfiler.getSamplingProfile")).profile as unknown as SampledHeap;
    },
  };
}
