// The statistics of the backend, with the names of envoyproxy/ratelimit.
import type { StatisticsCounter } from "../../statistics/statistic.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";

/** The counters in a store, all at zero when created. */
export class MemcachedStatistics {
  /** Calls by whether all their counts were read. */
  readonly multiget;
  /** `incr` commands by answer; miss: the key did not exist. */
  readonly increment;
  /** `decr` commands by answer; miss: the key did not exist. */
  readonly decrement;
  /** `add` commands by answer; not_stored: another client has added the key before. */
  readonly add;
  /** Keys in those calls. */
  readonly keysRequested: StatisticsCounter;
  /** Keys that existed; not counted when the counts of a call could not all be read. */
  readonly keysFound: StatisticsCounter;

  constructor(store: StatisticsStore) {
    const counter = (name: string): StatisticsCounter => store.counter(`ratelimit.memcache.${name}`);
    const outcomes = (name: string) => ({
      success: counter(`${name}.__code=success`),
      error: counter(`${name}.__code=error`),
    });
    this.multiget = outcomes("multiget");
    this.increment = { ...outcomes("increment"), miss: counter("increment.__code=miss") };
    this.decrement = { ...outcomes("decrement"), miss: counter("decrement.__code=miss") };
    this.add = { ...outcomes("add"), notStored: counter("add.__code=not_stored") };
    this.keysRequested = counter("keys_requested");
    this.keysFound = counter("keys_found");
  }
}
