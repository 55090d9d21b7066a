// The debug listener: what an operator may look at in a running process. It opens before everything else, so that a process which waits for its
// configuration can be looked into.
import { type AdminServer, createAdminServer, respondJson, respondText } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";

import type { Health } from "../../health/health.ts";
import type { RuleSet } from "../../rules/rule-set.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { respondHealth } from "../plain-answers.ts";
import { readStatistics } from "./statistics-dump.ts";

/** What the listener shows. */
export interface DebugListenerDeps {
  readonly rules: () => RuleSet | undefined;
  readonly statistics: StatisticsStore;
  readonly health: Health;
  readonly log: Log;
}

/** DEBUG_HOST and DEBUG_PORT. */
export interface DebugListenerOptions {
  readonly host: string;
  readonly port: number;
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
      const statistics = readStatistics(deps.statistics);
      if (formatOf(request.url) === "json") respondJson(response, 200, Object.fromEntries(statistics));
      else respondText(response, 200, statistics.map(([name, value]) => `${name}: ${value}\n`).join(""));
    },
  });
  server.route({
    path: "/healthcheck",
    help: "OK, or status 500 while the service is not healthy",
    handle: (_request, response) => respondHealth(response, deps.health),
  });
  return server;
}

function formatOf(url: string | undefined): string | null {
  return new URL(url ?? "/", "http://debug").searchParams.get("format");
}
