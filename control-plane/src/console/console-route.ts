// The path of the API of the console. Its handler is loaded with the first request, so that a start does not wait
// for the packages of Connect.
import type { AdminRoute } from "@weir/common/admin/admin-server";

import type { ConnectHandler } from "../report/connect-handler.ts";
import type { ConsoleApiDeps } from "./console-connect.ts";

/** The route. */
export function consoleRoute(deps: ConsoleApiDeps): AdminRoute {
  let handler: Promise<ConnectHandler> | undefined;
  return {
    path: "/weir.console.v1.ConsoleService/",
    help: "the API of the console: what pods count, by Connect (POST with JSON) and gRPC-web",
    // Connect itself answers other methods.
    methods: ["POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"],
    handle: async (request, response) => {
      handler ??= import("./console-connect.ts").then(({ createConsoleHandler }) => createConsoleHandler(deps));
      (await handler)(request, response);
    },
  };
}
