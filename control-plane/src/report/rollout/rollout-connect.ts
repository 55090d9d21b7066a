// The rollout API over HTTP/1.1. Import it lazily: its packages take time to load.
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { type ConnectHandler, connectErrorOf, createConnectHandler, RESPONSE } from "../connect-handler.ts";
import type { RolloutApiDeps } from "./rollout-grpc.ts";
import { filterOf } from "./rollout-message.ts";

/** Makes the handler. */
export function createRolloutHandler({ feed, limit, log }: RolloutApiDeps): ConnectHandler {
  return createConnectHandler(log, (router) => {
    router.service(RolloutService, {
      getRollout: ({ filter }, { values }) => {
        try {
          limit.admitResponse(values.get(RESPONSE));
          return { rollout: feed.get(filterOf(filter)) };
        } catch (error) {
          throw connectErrorOf(error, log);
        }
      },
      async *watchRollout({ filter, heartbeatMs, settledDigests }, { signal }) {
        try {
          for await (const rollout of feed.watch(filterOf(filter, settledDigests), signal, heartbeatMs))
            yield rollout === undefined ? {} : { rollout };
        } catch (error) {
          throw connectErrorOf(error, log);
        }
      },
    });
  });
}
