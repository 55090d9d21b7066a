// The statistics of the backend, with the names of envoyproxy/ratelimit.
import type { StatisticsCounter, StatisticsStore } from "../../statistics/statistics-store.ts";

const SCOPE = "ratelimit.memcache";

/** The counters, all at zero when created. */
export interface AltstoreStatistics {
  /** Calls by whether all their counts were read. */
  readonly multiget: { readonly success: StatisticsCounter; readonly error: StatisticsCounter };
  /** `incr` commands by answer; miss: the key did not exist. */
  readonly increment: {
    readonly success: StatisticsCounter;
    readonly miss: StatisticsCounter;
    readonly error: StatisticsCounter;
  };
  /** `add` commands by answer; not_stored: another client has added the key before. */
  readonly add: {
    readonly success: StatisticsCounter;
    readonly notStored: StatisticsCounter;
    readonly error: StatisticsCounter;
  };
  /** Keys in those calls. */
  readonly keysRequested: StatisticsCounter;
  /** Keys that existed; not counted when the counts of a call could not all be read. */
  readonly keysFound: StatisticsCounter;
}

/** The counters in the store. */
export function createAltstoreStatistics(store: StatisticsStore): AltstoreStatistics {
  const tagged = (name: string, code: string): StatisticsCounter => store.counter(`${SCOPE}.${name}.__code=${code}`);
  return {
    multiget: { success: tagged("multiget", "success"), error: tagged("multiget", "error") },
    increment: {
      success: tagged("increment", "success"),
      miss: tagged("increment", "miss"),
      error: tagged("increment", "error"),
    },
    add: { success: tagged("add", "success"), notStored: tagged("add", "not_stored"), error: tagged("add", "error") },
    keysRequested: store.counter(`${SCOPE}.keys_requested`),
    keysFound: store.counter(`${SCOPE}.keys_found`),
  };
}
