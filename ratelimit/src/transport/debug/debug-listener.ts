// The debug listener: what an operator may look at in a running process. It opens before everything else, so that a process which waits for its
// configuration can be looked into.
import type { ServerResponse } from "node:http";

import { type AdminServer, createAdminServer, respondText } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";

import type { Health } from "../../health/health.ts";
import type { RuleSet } from "../../rules/rule-set.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { renderStatisticsJson, renderStatisticsText } from "../../statistics/stats-page.ts";
import { respondHealth } from "../plain-answers.ts";
import { type ProfileOptions, profileRoutes } from "./profiles.ts";

/** What the listener shows. */
export interface DebugListenerDeps {
  readonly rules: () => RuleSet | undefined;
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
  const server = createAdminServer(deps, { ...options, setting: "DEBUG_PORT", what: "debug", listUnknown: true });
  server.route({
    path: "/rlconfig",
    help: "print out the currently loaded configuration for debugging",
    handle: (_request, response) => respondText(response, 200, deps.rules()?.dump() ?? ""),
  });
  server.route({
    path: "/stats",
    help: "print out stats, one per line; /stats?format=json as JSON",
    handle: (request, response) => {
      if (formatOf(request.url) === "json") respondJson(response, `${renderStatisticsJson(deps.statistics, deps.extraTags)}\n`);
      else respondText(response, 200, renderStatisticsText(deps.statistics, deps.extraTags));
    },
  });
  server.route({
    path: "/healthcheck",
    help: "OK, or status 500 while the service is not healthy",
    handle: (_request, response) => respondHealth(response, deps.health),
  });
  for (const route of profileRoutes(options.profiling)) server.route(route);
  return server;
}

function formatOf(url: string | undefined): string | null {
  return new URL(url ?? "/", "http://debug").searchParams.get("format");
}

function respondJson(response: ServerResponse, body: string): void {
  response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(body);
}
