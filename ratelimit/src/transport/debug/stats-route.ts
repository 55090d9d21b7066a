// /stats of the debug listener: every statistic, sent in steps so that a process with many of them
// goes on deciding meanwhile.
import type { AdminRoute } from "@weir/common/admin/admin-server";

import { createPacedResponses } from "../../statistics/paced-response.ts";
import { writeStatisticsJson, writeStatisticsText } from "../../statistics/stats-page.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";

/** What the page shows. */
export interface StatsRouteDeps {
  readonly statistics: StatisticsStore;
  /** EXTRA_TAGS: stand in the names. */
  readonly extraTags: ReadonlyMap<string, string>;
}

/** Makes the route. */
export function createStatsRoute({ statistics, extraTags }: StatsRouteDeps): AdminRoute {
  const responses = createPacedResponses();
  return {
    path: "/stats",
    help: "print out stats, one per line; /stats?format=json as JSON",
    handle(request, response) {
      const isJson = URL.parse(request.url ?? "/", "http://debug")?.searchParams.get("format") === "json";
      response.writeHead(200, {
        "Content-Type": isJson ? "application/json" : "text/plain; charset=utf-8",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      });
      if (request.method === "HEAD") {
        response.end();
        return;
      }
      const write = isJson ? writeStatisticsJson : writeStatisticsText;
      return responses.send(response, () => write(statistics, extraTags));
    },
  };
}
