// The present counts of a request, read without counting it: what is asked for, and the answer.
import type { LimitCount } from "@weir/limits/classify/limit-count";
import type { Entry } from "@weir/limits/rules/rule";

/** The counters to read. */
export interface CountersQuestion {
  readonly domain: string;
  readonly descriptors: readonly (readonly Entry[])[];
  /** When it has to be answered, in milliseconds of `performance.now`. */
  readonly deadlineMs: number;
}

/** The counts of a descriptor. */
export interface DescriptorCounts {
  /** The path of its rule; undefined when it has none. */
  readonly path: string | undefined;
  /** Each of its limits; none when nothing is counted. */
  readonly limits: readonly LimitCount[];
}

/** Reads counters, and counts nothing; fails with a ServiceError that says why there are no counts. */
export type ReadCounters = (question: CountersQuestion) => Promise<readonly DescriptorCounts[]>;
