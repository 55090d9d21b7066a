// The debug listener: what an operator may look at in a running process. It opens before everything
// else, so that a process which waits for its configuration can be looked into.
import { type AdminRoute, type AdminServer, createAdminServer } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";

import type { Health } from "../../health/health.ts";
import type { RuleSet } from "@weir/limits/rules/compile";
import { createPacedResponses } from "../../statistics/paced-response.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { respondHealth } from "../plain-answers.ts";
import { createProfiles, type ProfileOptions } from "./profiles.ts";
import { createStatsRoute } from "./stats-route.ts";

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

/** Length of text that is sent at once, in UTF-16 units, and on to the end of the line. */
const SLICE_LENGTH = 65_536;

/** What the listener shows. */
export interface DebugListenerDeps {
  readonly rules: () => Pick<RuleSet<unknown>, "dump"> | undefined;
  readonly statistics: StatisticsStore;
  /** EXTRA_TAGS: stand in the names of /stats. */
  readonly extraTags: ReadonlyMap<string, string>;
  readonly health: Health;
  readonly log: Log;
}

/** DEBUG_HOST, DEBUG_PORT and DEBUG_PROFILING. */
export interface DebugListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly profiling: ProfileOptions;
}

/** Makes the listener. */
export function createDebugListener(deps: DebugListenerDeps, options: DebugListenerOptions): AdminServer {
  const server = createAdminServer(deps, {
    ...options,
    setting: "DEBUG_PORT",
    what: "debug",
    listUnknown: true,
    connectionsMax: CONNECTIONS_MAX,
  });
  server.route(createRulesRoute(deps.rules));
  server.route(createStatsRoute(deps));
  server.route({
    path: "/healthcheck",
    help: "OK, or status 500 while the service is not healthy",
    handle: (_request, response) => respondHealth(response, deps.health),
  });
  const profiles = createProfiles(options.profiling);
  for (const route of profiles.routes) server.route(route);
  return {
    name: server.name,
    async start() {
      await server.start();
      // Nobody waits for it: whoever asks for a heap profile right now gets what is there.
      profiles
        .start()
        .catch((error: unknown) => deps.log.warn("allocations cannot be sampled, heap profiles are empty", { error }));
    },
    async stop() {
      await server.stop();
      profiles.stop();
    },
    route: (route) => server.route(route),
    address: () => server.address(),
  };
}

/**
 * The dump may be megabytes: sent to a few at a time, no faster than they read, so that clients
 * cannot fill the memory with it.
 */
function createRulesRoute(rules: DebugListenerDeps["rules"]): AdminRoute {
  const responses = createPacedResponses();
  return {
    path: "/rlconfig",
    help: "print out the currently loaded configuration for debugging",
    async handle(request, response) {
      response.writeHead(200, {
        "Content-Type": "text/plain; charset=utf-8",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      });
      if (request.method === "HEAD") response.end();
      else await responses.send(response, () => slicesOf(rules()?.dump() ?? ""));
    },
  };
}

/** Cut at the ends of lines. */
function* slicesOf(text: string): Generator<string, void> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = text.indexOf("\n", at + SLICE_LENGTH) + 1 || text.length;
    yield text.slice(at, end);
  }
}
