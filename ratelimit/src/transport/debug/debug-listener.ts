// The debug listener: the rules, statistics and profiles of a running process. It opens before
// everything else, so that it answers while the process waits for its configuration.
import { type AdminRoute, AdminServer } from "@weir/common/admin/admin-server";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { ListenAddress } from "@weir/common/net/listen";

import type { Health } from "../../health/health.ts";
import type { RuleSet } from "@weir/limits/rules/compile";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { respondHealth } from "../plain-answers.ts";
import { type ProfileOptions, Profiles } from "./profiles.ts";
import { rulesRoute, statsRoute } from "./text-routes.ts";

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

export interface DebugListenerDeps {
  readonly rules: () => Pick<RuleSet<unknown>, "dump"> | undefined;
  readonly statistics: StatisticsStore;
  /** EXTRA_TAGS: part of the names in /stats. */
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

/** The listener: an admin listener with the routes of the service. */
export class DebugListener implements Part {
  readonly name: string;
  readonly #server: AdminServer;
  readonly #profiles = new Profiles();
  readonly #log: Log;

  constructor(deps: DebugListenerDeps, options: DebugListenerOptions) {
    this.#log = deps.log;
    this.#server = new AdminServer(deps, {
      ...options,
      setting: "DEBUG_PORT",
      what: "debug",
      listUnknown: true,
      connectionsMax: CONNECTIONS_MAX,
    });
    this.name = this.#server.name;
    const healthcheck: AdminRoute = {
      path: "/healthcheck",
      help: "OK, or status 500 while the service is not healthy",
      handle: (_request, response) => respondHealth(response, deps.health),
    };
    const rules = rulesRoute(() => deps.rules()?.dump() ?? "");
    const stats = statsRoute(deps.statistics, deps.extraTags);
    for (const route of [rules, stats, healthcheck, ...this.#profiles.routes(options.profiling)])
      this.#server.route(route);
  }

  /** Opens the listener; fails with LISTEN_FAILED. */
  async start(): Promise<void> {
    await this.#server.start();
    // Not awaited, so that the listener is open as early as possible.
    this.#profiles
      .start()
      .catch((error: unknown) => this.#log.warn("Cannot sample allocations, heap profiles are empty", { error }));
  }

  /** Closes it; running requests have a second to end. */
  async stop(): Promise<void> {
    await this.#server.stop();
    this.#profiles.stop();
  }

  /** The address of the open listener; undefined before start. */
  address(): ListenAddress | undefined {
    return this.#server.address();
  }
}
