// The rollout API over gRPC, on the listener for pods, which decides which clients may call.
import type { ServerWritableStream } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import {
  type GetRolloutRequest,
  GetRolloutResponseSchema,
  RolloutService,
  type WatchRolloutRequest,
  type WatchRolloutResponse,
  WatchRolloutResponseSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { GrpcService } from "../../ads/services.ts";
import { grpcErrorOf, type ReportDeps, unaryMethod } from "../unary-method.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { filterOf } from "./rollout-message.ts";

/** What the rollout API works with, over every transport. */
export interface RolloutApiDeps extends ReportDeps {
  readonly feed: RolloutFeed;
}

/** The service for the listener. */
export function rolloutGrpcService({ feed, limit, log }: RolloutApiDeps): GrpcService {
  return {
    definition: serviceDefinition(RolloutService),
    implementation: {
      getRollout: unaryMethod(
        ({ filter }: GetRolloutRequest) => create(GetRolloutResponseSchema, { rollout: feed.get(filterOf(filter)) }),
        { limit, log },
      ),
      watchRollout: (call: WatchCall) => void follow(call, feed, log),
    },
  };
}

type WatchCall = ServerWritableStream<WatchRolloutRequest, WatchRolloutResponse>;

/** Never rejects: what goes wrong ends the call. */
async function follow(call: WatchCall, feed: RolloutFeed, log: Log): Promise<void> {
  const gone = new AbortController();
  call.on("cancelled", () => gone.abort());
  call.on("close", () => gone.abort());
  call.on("error", (error) => log.debug("A watch of the rollout failed", { peer: call.getPeer(), error }));
  try {
    const { filter, heartbeatMs } = call.request;
    for await (const rollout of feed.watch(filterOf(filter), gone.signal, heartbeatMs)) {
      const response = rollout === undefined ? {} : { rollout };
      await written(call, create(WatchRolloutResponseSchema, response), gone.signal);
    }
    call.end();
  } catch (error) {
    call.emit("error", grpcErrorOf(error, log));
  }
}

/** Resolves when the response is sent or the client is gone. `drain` would queue 16 states. */
async function written(call: WatchCall, response: WatchRolloutResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = (): void => resolve();
  gone.addEventListener("abort", go, { once: true });
  call.write(response, go);
  await promise;
  gone.removeEventListener("abort", go);
}
