// The statistics of files that are loaded again when they change, by the names of the reference:
// `runtime` for rule files, `certs` for the certificate of the gRPC listener.
import type { StatisticsCounter, StatisticsGauge, StatisticsStore } from "./statistics-store.ts";

/** What is loaded. */
export type LoadScope = "runtime" | "certs";

/** Loads of one kind of files. */
export interface LoadStatistics {
  /** <scope>.load_attempts */
  readonly attempts: StatisticsCounter;
  /** <scope>.load_failures */
  readonly failures: StatisticsCounter;
  /** <scope>.num_values: files in force */
  readonly values: StatisticsGauge;
}

/** The statistics in the store, all at zero. */
export function createLoadStatistics(store: StatisticsStore, scope: LoadScope): LoadStatistics {
  return {
    attempts: store.counter(`${scope}.load_attempts`),
    failures: store.counter(`${scope}.load_failures`),
    values: store.gauge(`${scope}.num_values`),
  };
}
