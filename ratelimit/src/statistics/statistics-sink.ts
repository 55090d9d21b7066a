// The interface of a statistics sink. Pulled and pushed statistics have a folder each.
import type { Part } from "@weir/common/lifecycle/lifecycle";

/**
 * A part that reads the store and exports it. `start` listens or connects; `stop` sends the rest
 * and closes. A sink never blocks or fails a decision.
 */
export interface StatisticsSink extends Part {
  /** The address where it listens or sends to; undefined before start or without one. */
  address(): string | undefined;
}
