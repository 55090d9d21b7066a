// Bounds how many answers are on their way to clients: a large one stays in memory until its client
// has read it, and a client that does not read would keep it as long as its connection lasts.
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";

import { http2StreamOf } from "../ads/stream/chunked-writer.ts";
import { ReportError } from "./report-error.ts";

/** How long a client may take to read an answer, in milliseconds; then it is cut off. */
const DELIVERY_MAX_MS = 30_000;

/** The header for HTTP clients that get no answer: ask again after so many seconds. */
export const RETRY_AFTER = { name: "Retry-After", value: "1" } as const;

/** An answer that is on its way. */
export interface Delivery {
  /** Calls back when the client has all of it, or is gone. */
  onEnd(ended: () => void): void;
  /** Ends it as it is. */
  cut(): void;
}

/** The number of answers, and what they do. */
export interface ConcurrencyLimitOptions {
  readonly max: number;
  /** For messages: "report the rollout". */
  readonly task: string;
}

/** Limits the number of concurrent answers. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  #active = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /**
   * Counts the answer until it has ended; fails with ANSWERS_EXCEEDED beyond the limit. Undefined,
   * from a transport that hides its stream, is not counted.
   */
  admit(delivery: Delivery | undefined): void {
    if (delivery === undefined) return;
    const { max, task } = this.#options;
    if (this.#active >= max) {
      const message = `Cannot ${task}: ${max} answers are on their way to clients that have not read them yet; ask again in a moment`;
      throw new ReportError("ANSWERS_EXCEEDED", message, { transient: true });
    }
    this.#active += 1;
    const timer = setTimeout(() => delivery.cut(), DELIVERY_MAX_MS).unref();
    let isOver = false;
    delivery.onEnd(() => {
      if (isOver) return;
      isOver = true;
      this.#active -= 1;
      clearTimeout(timer);
    });
  }
}

/** The answer to a gRPC call; undefined where grpc-js does not show its stream. */
export function deliveryOfCall(call: object): Delivery | undefined {
  const stream = http2StreamOf(call);
  if (stream === undefined) return undefined;
  return { onEnd: (ended) => stream.once("close", ended), cut: () => stream.close(constants.NGHTTP2_CANCEL) };
}

/** The answer to an HTTP request. */
export function deliveryOfResponse(response: ServerResponse): Delivery {
  return { onEnd: (ended) => response.once("close", ended), cut: () => response.destroy() };
}
