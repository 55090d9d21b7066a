// The answer to a question of the control plane for the present counts of a request.
import { create } from "@bufbuild/protobuf";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { LimitCount } from "@weir/limits/classify/limit-count";
import { limitText } from "@weir/limits/explain/limit-text";
import { ALGORITHMS } from "@weir/limits/model/model";
import { unitOfNumber } from "@weir/limits/model/unit";
import {
  type CountersRead,
  CountersReadSchema,
  type ReadCounters as Question,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import type { ReadCounters } from "./counters-reading.ts";

/** Most descriptors of a question, and most entries of each. */
const DESCRIPTORS_MAX = 32;
const ENTRIES_MAX = 32;

/** How long reading may take, in milliseconds: less than the control plane waits. */
const READ_MAX_MS = 1500;

/** Largest number of the message. */
const UINT32_MAX = 2 ** 32 - 1;

/** Reads the counters. Never fails: the answer says why there are no counts. Nothing is logged, it has values of users. */
export async function answerCounters(
  { id, domain, descriptors }: Question,
  read: ReadCounters,
  nowMs: number,
): Promise<CountersRead> {
  if (descriptors.length > DESCRIPTORS_MAX || descriptors.some(({ entries }) => entries.length > ENTRIES_MAX)) {
    const error = `a question may have ${DESCRIPTORS_MAX} descriptors of ${ENTRIES_MAX} entries`;
    return create(CountersReadSchema, { id, error });
  }
  try {
    const question = {
      domain,
      descriptors: descriptors.map(({ entries }) => entries),
      deadlineMs: nowMs + READ_MAX_MS,
    };
    const counts = await read(question);
    return create(CountersReadSchema, {
      id,
      descriptors: counts.map(({ path = "", limits }) => ({ path, limits: limits.map(countMessage) })),
    });
  } catch (error) {
    const text = error instanceof ServiceError ? describeError(error) : "internal error";
    return create(CountersReadSchema, { id, error: text });
  }
}

function countMessage(count: LimitCount) {
  const { capacity, hits, remaining, resetSeconds, retrySeconds } = count;
  return {
    ...{ limit: limitWords(count), capacity, hits: BigInt(hits) },
    ...{ remaining: Math.min(remaining, UINT32_MAX), resetSeconds, retrySeconds },
  };
}

function limitWords({ limit, algorithm, capacity }: LimitCount): string {
  return limitText({
    ...limit,
    ...{ unit: unitOfNumber(limit.unit) ?? "", unlimited: false, replaces: [] },
    ...{ algorithm: ALGORITHMS[algorithm], burst: capacity },
  });
}
