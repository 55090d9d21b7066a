// A rate limit request as the decider sees it, free of any wire. Messages of protobuf-es satisfy it
// structurally, so transports hand them over as they are; a hand-written codec fills the same
// shape.

/** One question: which of these descriptors of the domain is over its limit? */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly RequestDescriptor[];
  /**
   * Hits that each descriptor without an addend of its own adds; 0 and absent on the wire both mean
   * 1.
   */
  readonly hitsAddend: number;
}

/** An ordered list of pairs, with an optional limit that replaces the configured one. */
export interface RequestDescriptor {
  readonly entries: readonly RequestEntry[];
  /**
   * A limit that the caller brings along; `unit` is the number of envoy.type.v3.RateLimitUnit, or 7
   * for WEEK.
   */
  readonly limit?: RequestLimit | undefined;
  /** Hits of this descriptor; 0 asks without counting. Absent means the addend of the request. */
  readonly hitsAddend?: bigint | number | undefined;
}

/** One pair of a descriptor; both sides are case-sensitive and may be empty. */
export interface RequestEntry {
  readonly key: string;
  readonly value: string;
}

/** The limit of a request that overrides the configuration. */
export interface RequestLimit {
  readonly requestsPerUnit: number;
  readonly unit: number;
}
