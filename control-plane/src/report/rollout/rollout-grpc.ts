// The rollout API over gRPC, on the listener for pods, which decides which clients may call.
import { create } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import { encodeMessage, libraryMethod } from "@weir/http2/grpc/library-messages";
import { MessageQueue } from "@weir/http2/grpc/message-queue";
import type { UnaryCall, UnaryMethod } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";
import {
  type GetRolloutRequest,
  GetRolloutRequestSchema,
  GetRolloutResponseSchema,
  RolloutService,
  type WatchRolloutRequest,
  WatchRolloutRequestSchema,
  WatchRolloutResponseSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { ConcurrencyLimit } from "../concurrency-limit.ts";
import { refusalOf } from "../report-error.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { filterOf } from "./rollout-message.ts";

export interface RolloutApiDeps {
  readonly feed: RolloutFeed;
  /** Limits concurrent answers. */
  readonly limit: ConcurrencyLimit;
  readonly log: Log;
}

/** The methods for the listener, by path. */
export function rolloutMethods(deps: RolloutApiDeps): ReadonlyMap<string, UnaryMethod> {
  const { getRollout, watchRollout } = serviceDefinition(RolloutService);
  return new Map([
    [getRollout.path, libraryMethod(GetRolloutRequestSchema, (call, request) => answer(call, request, deps))],
    [watchRollout.path, libraryMethod(WatchRolloutRequestSchema, (call, request) => void follow(call, request, deps))],
  ]);
}

function answer(call: UnaryCall, { filter }: GetRolloutRequest, { feed, limit, log }: RolloutApiDeps): void {
  let free = (): void => undefined;
  const messages = new MessageQueue(
    (receiver) => call.stream(receiver),
    () => free(),
  );
  try {
    free = limit.admit(() => messages.reset());
    const response = create(GetRolloutResponseSchema, { rollout: feed.get(filterOf(filter)) });
    messages.send([encodeMessage(GetRolloutResponseSchema, response)]);
    messages.end(GrpcStatus.OK, "");
  } catch (error) {
    fail(messages, error, log);
  }
}

/** Never rejects: what goes wrong ends the call. */
async function follow(
  call: UnaryCall,
  { filter, heartbeatMs, settledDigests }: WatchRolloutRequest,
  { feed, log }: RolloutApiDeps,
): Promise<void> {
  const gone = new AbortController();
  const messages = new MessageQueue(
    (receiver) => call.stream(receiver),
    () => gone.abort(),
  );
  try {
    for await (const rollout of feed.watch(filterOf(filter, settledDigests), gone.signal, heartbeatMs)) {
      // Nothing would be reported as written any more.
      if (gone.signal.aborted) break;
      const response = create(WatchRolloutResponseSchema, rollout === undefined ? {} : { rollout });
      const bytes = encodeMessage(WatchRolloutResponseSchema, response);
      await new Promise<void>((written) => messages.send([bytes], written));
    }
    messages.end(GrpcStatus.OK, "");
  } catch (error) {
    fail(messages, error, log);
  }
}

function fail(messages: MessageQueue, error: unknown, log: Log): void {
  const { code, message } = refusalOf(error, log);
  messages.end(GrpcStatus[code], message);
}
