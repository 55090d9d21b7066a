// The statistics of the connections of a deployment, which all its servers share, and the news of
// how many connections work.
import type { StatisticsCounter, StatisticsGauge } from "../../../statistics/statistics-store.ts";
import type { DeploymentDeps } from "../deployment.ts";

/** Counts connections: ratelimit.<scope>.cx_active, cx_total and cx_local_close. */
export class PoolStatistics {
  readonly #connections: (active: number) => void;
  readonly #active: StatisticsGauge;
  readonly #total: StatisticsCounter;
  readonly #localClose: StatisticsCounter;

  constructor({ statistics, connections }: Pick<DeploymentDeps, "statistics" | "connections">, scope: string) {
    this.#connections = connections;
    this.#active = statistics.gauge(`ratelimit.${scope}.cx_active`);
    this.#total = statistics.counter(`ratelimit.${scope}.cx_total`);
    this.#localClose = statistics.counter(`ratelimit.${scope}.cx_local_close`);
  }

  /** A connection works from now on. */
  opened(): void {
    this.#total.add(1);
    this.#setActive(this.#active.value + 1);
  }

  /** A connection that worked does no longer. */
  lost(): void {
    this.#setActive(this.#active.value - 1);
  }

  /** A connection that worked is about to be closed by this side; `lost` follows. */
  closing(): void {
    this.#localClose.add(1);
  }

  #setActive(active: number): void {
    this.#active.set(active);
    this.#connections(active);
  }
}
