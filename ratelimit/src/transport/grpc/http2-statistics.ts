// Exports what the HTTP/2 server counts as statistics.
import type { Http2Counters } from "@weir/http2/limits/counters";

import type { StatisticsStore } from "../../statistics/statistics-store.ts";

/** The counter that goes up and down. */
const OPEN_CONNECTIONS = "openConnections";

/**
 * Creates ratelimit.http2.<name> for every counter of a server, `open_connections` as a gauge. They
 * are brought up to date whenever statistics are read; the returned function ends this.
 */
export function exportHttp2Counters(counters: Readonly<Http2Counters>, store: StatisticsStore): () => void {
  const names = (Object.keys(counters) as (keyof Http2Counters)[]).filter((name) => name !== OPEN_CONNECTIONS);
  const exported = names.map((name) => ({ name, counter: store.counter(statisticName(name)), exported: 0 }));
  const openConnections = store.gauge(statisticName(OPEN_CONNECTIONS));
  return store.onRead(() => {
    openConnections.set(counters[OPEN_CONNECTIONS]);
    for (const each of exported) {
      const total = counters[each.name];
      each.counter.add(total - each.exported);
      each.exported = total;
    }
  });
}

/** "streamsRefused" is ratelimit.http2.streams_refused. */
function statisticName(name: string): string {
  return `ratelimit.http2.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
}
