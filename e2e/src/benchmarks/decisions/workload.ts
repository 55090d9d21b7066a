// What the measured servers are asked: their rules, the requests, and the loads.
import { create, toBinary } from "@bufbuild/protobuf";
import { RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { KEY_MARKER } from "../load/call-connection.ts";
import type { LoadOrder } from "../load/load-generator.ts";

/**
 * Limits per user and per day (or second) that no benchmark reaches, so that every decision counts
 * and answers alike; and one that everybody is over from the first hit on.
 */
export const BENCH_RULES = `domain: bench
descriptors:
  - key: user
    rate_limit:
      unit: day
      requests_per_unit: 4000000000
  - key: burst
    rate_limit:
      unit: second
      requests_per_unit: 4000000000
  - key: tight
    rate_limit:
      unit: day
      requests_per_unit: 0
`;

/** Different keys that most loads ask about, so that no counter is always in a cache. */
const MANY_KEYS = 100_000;

/** How calls are sent; the names are those of docs/benchmarks.md. */
export interface Load extends Pick<LoadOrder, "connections" | "load"> {
  readonly name: string;
}

/** As a few busy proxies send calls. */
export const PIPELINED: Load = { name: "8 connections × 64", connections: 8, load: { kind: "closed", inFlight: 64 } };

/** One call after the other, so that nothing can be batched. */
export const UNBATCHED: Load = { name: "16 connections × 1", connections: 16, load: { kind: "closed", inFlight: 1 } };

/** A fixed rate, for latencies. */
export const OPEN_LOOP: Load = { name: "open loop, 5 k/s", connections: 8, load: { kind: "open", perSecond: 5000 } };

/** What every call asks. */
export interface Question {
  /** The encoded request with KEY_MARKER where numbers of keys go. */
  readonly message: Uint8Array;
  /** Different keys. */
  readonly keys: number;
  /** What the answers must be; anything else ends the benchmark. */
  readonly answers: "within" | "over";
}

/** One descriptor, of one of many users. */
export const ONE_OF_MANY: Question = { message: request("user"), keys: MANY_KEYS, answers: "within" };

/** One descriptor, always the same user. */
export const HOT_KEY: Question = { message: request("user"), keys: 1, answers: "within" };

/** Two descriptors, one of them with a limit per second. */
export const TWO_DESCRIPTORS: Question = { message: request("user", "burst"), keys: MANY_KEYS, answers: "within" };

/**
 * One descriptor, of users who are over their limit. So few that a local cache knows all of them
 * when the measured time begins.
 */
export const OVER_LIMIT: Question = { message: request("tight"), keys: 500, answers: "over" };

function request(...keys: readonly string[]): Uint8Array {
  const descriptors = keys.map((key) => ({ entries: [{ key, value: KEY_MARKER }] }));
  return toBinary(RateLimitRequestSchema, create(RateLimitRequestSchema, { domain: "bench", descriptors }));
}
