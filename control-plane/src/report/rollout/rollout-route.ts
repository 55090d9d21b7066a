// The path of the rollout API on the HTTP listener. Its handler is loaded with the first request,
// so that a start does not wait for the packages of Connect.
import type { AdminRoute } from "@weir/common/admin/admin-server";

import type { ConnectHandler } from "../connect-handler.ts";
import type { RolloutApiDeps } from "./rollout-grpc.ts";

/** The route. */
export function rolloutRoute(deps: RolloutApiDeps): AdminRoute {
  let handler: Promise<ConnectHandler> | undefined;
  return {
    path: "/weir.rollout.v1.RolloutService/",
    help: "the rollout API: GetRollout and WatchRollout by Connect (POST with JSON) and gRPC-web",
    // Connect itself answers other methods.
    methods: ["POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"],
    handle: async (request, response) => {
      handler ??= import("./rollout-connect.ts").then(({ createRolloutHandler }) => createRolloutHandler(deps));
      (await handler)(request, response);
    },
  };
}
