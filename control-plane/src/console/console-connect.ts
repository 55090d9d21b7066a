// The API of the console over HTTP/1.1. Import it lazily: its packages take time to load.
import type { Log } from "@weir/common/log/log";
import { ConsoleService } from "@weir/proto/generated/weir/console/v1/console_pb";

import { type ConnectHandler, connectErrorOf, createConnectHandler } from "../report/connect-handler.ts";
import type { ConsoleFeed } from "./console-feed.ts";
import { explain, getRules, type PublishedRules } from "./published-rules.ts";

/** Most rules whose keys one watcher may want. */
const KEYED_RULES_MAX = 32;

export interface ConsoleApiDeps {
  readonly feed: ConsoleFeed;
  readonly published: PublishedRules;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

/** Makes the handler. */
export function createConsoleHandler({ feed, published, clock, log }: ConsoleApiDeps): ConnectHandler {
  return createConnectHandler(log, (router) => {
    router.service(ConsoleService, {
      getRules: (request) => getRules(published, request),
      explainRequest: (request) => explain(published, request, clock()),
      async *watchCounts({ fleet, keysOf }, { signal }) {
        try {
          yield* feed.watch({ fleet, keysOf: keysOf.slice(0, KEYED_RULES_MAX) }, signal);
        } catch (error) {
          throw connectErrorOf(error, log);
        }
      },
    });
  });
}
