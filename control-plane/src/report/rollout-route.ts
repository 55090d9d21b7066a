// The path of the rollout API on the HTTP listener. What answers there is loaded with the first
// request, so that a start does not wait for it.
import type { AdminRoute } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";

import type { AnswerBound } from "./answer-bound.ts";
import type { RolloutHandler } from "./rollout-connect.ts";
import type { RolloutFeed } from "./rollout-feed.ts";

/** The route. */
export function rolloutRoute(deps: {
  readonly feed: RolloutFeed;
  readonly answers: AnswerBound;
  readonly log: Log;
}): AdminRoute {
  let handler: Promise<RolloutHandler> | undefined;
  return {
    path: "/weir.rollout.v1.RolloutService/",
    help: "the rollout API: GetRollout and WatchRollout by Connect (POST with JSON) and gRPC-web",
    // Connect answers other methods itself, in its own words.
    methods: ["POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"],
    handle: async (request, response) => {
      handler ??= loadHandler(deps);
      (await handler)(request, response);
    },
  };
}

async function loadHandler(deps: {
  readonly feed: RolloutFeed;
  readonly answers: AnswerBound;
  readonly log: Log;
}): Promise<RolloutHandler> {
  const { createRolloutHandler } = await import("./rollout-connect.ts");
  return createRolloutHandler(deps);
}
