// The rollout API over gRPC, on the listener for pods. It knows no TLS: who may call at all is
// decided before.
import type { sendUnaryData, ServerUnaryCall, ServerWritableStream } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import {
  type GetRolloutRequest,
  type GetRolloutResponse,
  GetRolloutResponseSchema,
  RolloutService,
  type WatchRolloutRequest,
  type WatchRolloutResponse,
  WatchRolloutResponseSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { GrpcService } from "../ads/grpc-service.ts";
import { type AnswerBound, deliveryOfCall } from "./answer-bound.ts";
import { grpcErrorOf } from "./grpc-error.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { filterOf } from "./rollout-message.ts";

/** What the service works with. */
export interface RolloutGrpcDeps {
  readonly feed: RolloutFeed;
  readonly answers: AnswerBound;
  readonly log: Log;
}

/** The service for the listener. */
export function rolloutGrpcService({ feed, answers, log }: RolloutGrpcDeps): GrpcService {
  return {
    definition: serviceDefinition(RolloutService),
    implementation: {
      getRollout: (
        call: ServerUnaryCall<GetRolloutRequest, GetRolloutResponse>,
        answer: sendUnaryData<GetRolloutResponse>,
      ) => {
        try {
          answers.admit(deliveryOfCall(call));
          answer(null, create(GetRolloutResponseSchema, { rollout: feed.get(filterOf(call.request.filter)) }));
        } catch (error) {
          answer(grpcErrorOf(error, log));
        }
      },
      watchRollout: (call: ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>) => {
        void follow(call, feed, log);
      },
    },
  };
}

/** Never rejects: what goes wrong ends the call. */
async function follow(
  call: ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>,
  feed: RolloutFeed,
  log: Log,
): Promise<void> {
  const gone = new AbortController();
  call.on("cancelled", () => gone.abort());
  call.on("close", () => gone.abort());
  call.on("error", (error) => log.debug("A watch of the rollout failed", { peer: call.getPeer(), error }));
  try {
    for await (const rollout of feed.watch(filterOf(call.request.filter), gone.signal)) {
      await written(call, create(WatchRolloutResponseSchema, { rollout }), gone.signal);
    }
    call.end();
  } catch (error) {
    call.emit("error", grpcErrorOf(error, log));
  }
}

/**
 * Writes, and resolves when that is on its way to the client, or the client is gone: a slow one is
 * told less often. `drain` would let 16 states queue up.
 */
async function written(
  call: ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>,
  response: WatchRolloutResponse,
  gone: AbortSignal,
): Promise<void> {
  if (gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = (): void => resolve();
  gone.addEventListener("abort", go, { once: true });
  call.write(response, go);
  await promise;
  gone.removeEventListener("abort", go);
}
