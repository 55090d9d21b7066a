// What every statistics sink is to main.ts: a part that reads the store and tells someone. Pulled
// and pushed statistics have a folder each; statistics-sink.suite.ts says in tests what they all
// must do.
import type { Part } from "@weir/common/lifecycle/lifecycle";

/**
 * A sink. `start` makes it ready (listening, connecting); `stop` delivers what it still holds and
 * closes. It never blocks or fails a decision.
 */
export interface StatisticsSink extends Part {
  /**
   * Where it listens or sends to, for the table of what runs where; undefined before start or when
   * there is no address.
   */
  address(): string | undefined;
}
