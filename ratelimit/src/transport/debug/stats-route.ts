// Serves every statistic on /stats of the debug listener, in steps: a process with many statistics
// keeps deciding meanwhile.
import type { AdminRoute } from "@weir/common/admin/admin-server";

import { PacedResponses } from "../../statistics/paced-response.ts";
import { writeStatisticsJson, writeStatisticsText } from "../../statistics/stats-page.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";

/** What the page needs. */
export interface StatsRouteDeps {
  readonly statistics: StatisticsStore;
  /** EXTRA_TAGS: part of the names. */
  readonly extraTags: ReadonlyMap<string, string>;
}

/** Makes the route. */
export function statsRoute({ statistics, extraTags }: StatsRouteDeps): AdminRoute {
  const responses = new PacedResponses();
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
