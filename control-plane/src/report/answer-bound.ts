// Bounds how many answers are under way to clients: a large one stays in memory until its client
// has read it, and a client that does not read would keep it for as long as its connection lives.
// It knows no transport but by the two ways in which an answer ends.
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";

import { http2StreamOf } from "../ads/write-pieces.ts";
import { ReportError } from "./report-error.ts";

/**
 * How long a client may take to read an answer, in milliseconds: then it is cut off, and others are
 * answered.
 */
const DELIVERY_MAX_MS = 30_000;

/** What HTTP clients are told who get no answer: in how many seconds to ask again. */
export const RETRY_AFTER = { name: "Retry-After", value: "1" } as const;

/** An answer that is under way from now on. */
export interface Delivery {
  /** Calls back when the client has all of it, or is gone. */
  onEnd(ended: () => void): void;
  /** Ends it as it is. */
  cut(): void;
}

/** What is counted, and how much of it there may be. */
export interface AnswerBoundOptions {
  readonly max: number;
  /** For messages: "tell the rollout". */
  readonly task: string;
}

/** A bound. */
export interface AnswerBound {
  /**
   * Counts the answer until it has ended; fails with ANSWERS_EXCEEDED when there are as many as may
   * be. Undefined, where a transport does not tell, counts nothing.
   */
  admit(delivery: Delivery | undefined): void;
}

/** Makes a bound with nothing under way. */
export function createAnswerBound({ max, task }: AnswerBoundOptions): AnswerBound {
  let underWay = 0;
  return {
    admit: (delivery) => {
      if (delivery === undefined) return;
      if (underWay >= max) {
        const message = `Cannot ${task}: ${max} answers are on their way to clients that have not read them yet; ask again in a moment`;
        throw new ReportError("ANSWERS_EXCEEDED", message, { transient: true });
      }
      underWay += 1;
      const timer = setTimeout(() => delivery.cut(), DELIVERY_MAX_MS).unref();
      let isOver = false;
      delivery.onEnd(() => {
        if (isOver) return;
        isOver = true;
        underWay -= 1;
        clearTimeout(timer);
      });
    },
  };
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
