// The listener of the console: the loopback addresses, which no other machine reaches. kubectl
// port-forward does, with the rights of its user in the API server.
import type { IncomingMessage } from "node:http";

import { type AdminRoute, AdminServer, respondText } from "@weir/common/admin/admin-server";
import { ServiceError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { isLocalName } from "@weir/common/net/loopback";
import { loopbackHosts } from "@weir/common/settings/listen-hosts";

/** The listener at the loopback addresses of this machine; undefined with port 0. */
export function consoleServer(
  deps: { readonly log: Log },
  routes: readonly AdminRoute[],
  port: number,
): AdminServer | undefined {
  if (port === 0) return undefined;
  const [host, ...otherHosts] = loopbackHosts();
  const server = new AdminServer(deps, { host, otherHosts, port, setting: "CONSOLE_PORT", what: "console" });
  for (const route of routes) server.route(forThisMachine(route));
  return server;
}

/** The listener as a part whose start does not fail when its port is taken. */
export function optionalConsole({ log }: { readonly log: Log }, server: AdminServer): Part {
  return {
    name: server.name,
    start: async () => {
      try {
        await server.start();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== "LISTEN_FAILED") throw error;
        log.warn("Running without the console", { reason: error.message });
      }
    },
    stop: () => server.stop(),
  };
}

/** The route for requests that no web page of another origin makes: browsers ask this machine for any page. */
function forThisMachine(route: AdminRoute): AdminRoute {
  return {
    ...route,
    handle: async (request, response) => {
      if (!isLocalName(request.headers.host))
        respondText(response, 403, "ask for it by 127.0.0.1, [::1] or localhost\n");
      else if (isOtherOrigin(request)) respondText(response, 403, "a web page of another origin may not ask for it\n");
      else await route.handle(request, response);
    },
  };
}

/** Returns true if a browser says that a page of another origin asks: another port of this machine is one, too. */
function isOtherOrigin({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin !== undefined && origin.toLowerCase() !== `http://${host ?? ""}`.toLowerCase();
}
