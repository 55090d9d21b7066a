// The routes of the debug listener whose text may be megabytes: a few clients get it at a time, no
// faster than they read, and the process keeps deciding meanwhile.
import type { IncomingMessage } from "node:http";
import type { AdminRoute } from "@weir/common/admin/admin-server";

import { PacedResponses, type Pieces } from "../../statistics/paced-response.ts";
import { writeStatisticsJson, writeStatisticsText } from "../../statistics/stats-page.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";

const TEXT = "text/plain; charset=utf-8";

/** Length of a slice of text, in UTF-16 units; it continues to the end of its line. */
const SLICE_LENGTH = 65_536;

/** /rlconfig: the active rules; `dump` returns their text. */
export function rulesRoute(dump: () => string): AdminRoute {
  const help = "print out the currently loaded configuration for debugging";
  return textRoute("/rlconfig", help, () => ({ type: TEXT, write: () => slicesOf(dump()) }));
}

/** /stats: every statistic. EXTRA_TAGS are part of the names. */
export function statsRoute(statistics: StatisticsStore, extraTags: ReadonlyMap<string, string>): AdminRoute {
  return textRoute("/stats", "print out stats, one per line; /stats?format=json as JSON", async (request) => {
    await statistics.collect();
    const isJson = URL.parse(request.url ?? "/", "http://debug")?.searchParams.get("format") === "json";
    return isJson
      ? { type: "application/json", write: () => writeStatisticsJson(statistics, extraTags) }
      : { type: TEXT, write: () => writeStatisticsText(statistics, extraTags) };
  });
}

/** A page. */
interface TextAnswer {
  readonly type: string;
  readonly write: () => Pieces;
}

function textRoute(
  path: string,
  help: string,
  answerOf: (request: IncomingMessage) => TextAnswer | Promise<TextAnswer>,
): AdminRoute {
  const responses = new PacedResponses();
  return {
    path,
    help,
    async handle(request, response) {
      const { type, write } = await answerOf(request);
      response.writeHead(200, {
        "Content-Type": type,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      });
      if (request.method === "HEAD") response.end();
      else await responses.send(response, write);
    },
  };
}

/** Cut at the ends of lines. */
function* slicesOf(text: string): Pieces {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = text.indexOf("\n", at + SLICE_LENGTH) + 1 || text.length;
    yield text.slice(at, end);
  }
}
