// Counts what a source of rule files brings, in front of whoever takes it.
import type { ConfigListener } from "./config/config-source.ts";
import type { LoadStatistics } from "./statistics/load-statistics.ts";

/**
 * The listener, with every load counted: as a failure when there is nothing to apply, e.g. because
 * a file cannot be read.
 */
export function countLoads(listener: ConfigListener, statistics: LoadStatistics): ConfigListener {
  return {
    apply(configs) {
      statistics.attempts.add(1);
      statistics.values.set(configs.length);
      return listener.apply(configs);
    },
    reject(error) {
      statistics.attempts.add(1);
      statistics.failures.add(1);
      listener.reject(error);
    },
  };
}
