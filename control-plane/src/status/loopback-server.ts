// The listener of the loopback addresses, which no other machine reaches. kubectl port-forward
// does, with the rights of its user in the API server.
import { type AdminRoute, AdminServer, respondText } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";
import { isLocalName } from "@weir/common/net/loopback";
import { loopbackHosts } from "@weir/common/settings/listen-hosts";

/** The listener at the loopback addresses of this machine; undefined with port 0. */
export function loopbackServer(
  deps: { readonly log: Log },
  routes: readonly AdminRoute[],
  port: number,
): AdminServer | undefined {
  if (port === 0) return undefined;
  const [host, ...otherHosts] = loopbackHosts();
  const server = new AdminServer(deps, { host, otherHosts, port, setting: "LOOPBACK_PORT", what: "loopback HTTP" });
  for (const route of routes) server.route(forLocalNames(route));
  return server;
}

/** The route for requests that ask this machine by its names: browsers ask it for any web page. */
function forLocalNames(route: AdminRoute): AdminRoute {
  return {
    ...route,
    handle: async (request, response) => {
      if (isLocalName(request.headers.host)) await route.handle(request, response);
      else respondText(response, 403, "ask for it by 127.0.0.1, [::1] or localhost\n");
    },
  };
}
