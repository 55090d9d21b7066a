// The rollout API over gRPC, on the listener for pods. It knows no TLS: who may call at all is decided before.
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
import { grpcErrorOf } from "./grpc-error.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { filterOf } from "./rollout-message.ts";

/** What the service works with. */
export interface RolloutGrpcDeps {
  readonly feed: RolloutFeed;
  readonly log: Log;
}

/** The service for the listener. */
export function rolloutGrpcService({ feed, log }: RolloutGrpcDeps): GrpcService {
  return {
    definition: serviceDefinition(RolloutService),
    implementation: {
      getRollout: (call: ServerUnaryCall<GetRolloutRequest, GetRolloutResponse>, answer: sendUnaryData<GetRolloutResponse>) => {
        try {
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
async function follow(call: ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>, feed: RolloutFeed, log: Log): Promise<void> {
  const gone = new AbortController();
  call.on("cancelled", () => gone.abort());
  call.on("close", () => gone.abort());
  call.on("error", (error) => log.debug("A watch of the rollout failed", { peer: call.getPeer(), error }));
  try {
    for await (const rollout of feed.watch(filterOf(call.request.filter), gone.signal)) {
      if (!call.write(create(WatchRolloutResponseSchema, { rollout }))) await drained(call, gone.signal);
    }
    call.end();
  } catch (error) {
    call.emit("error", grpcErrorOf(error, log));
  }
}

/** Resolves when the client has read what it was sent, or is gone: a slow one is told less often. */
async function drained(call: ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = (): void => resolve();
  call.once("drain", go);
  gone.addEventListener("abort", go, { once: true });
  await promise;
  call.off("drain", go);
  gone.removeEventListener("abort", go);
}
