// The dependencies that the connections of a server share.
import type { Deadlines } from "../grpc/deadlines.ts";
import type { Methods, Turn } from "../grpc/method.ts";
import type { FieldList } from "../hpack/field-list.ts";
import type { HpackLimits } from "../hpack/hpack-decoder.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { Http2Counters } from "../limits/counters.ts";
import type { Http2Limits } from "../limits/limits.ts";
import type { ChunkPool } from "../output/chunk-pool.ts";

export interface ConnectionDeps {
  readonly methods: Methods;
  readonly turn: Turn;
  readonly limits: Http2Limits;
  readonly counters: Http2Counters;
  readonly pool: ChunkPool;
  readonly budget: ByteBudget;
  readonly deadlines: Deadlines;
  /** Scratch space for header blocks. */
  readonly fields: FieldList;
}

/** The limits of header blocks. */
export function hpackLimits(limits: Http2Limits): HpackLimits {
  return { tableMaxBytes: 4096, listMaxBytes: limits.headerListMaxBytes, tableUpdatesMax: 2 };
}
