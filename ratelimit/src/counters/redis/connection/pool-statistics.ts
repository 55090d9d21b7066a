// The connection statistics of a deployment, shared by its servers.
import type { StatisticsCounter, StatisticsGauge } from "../../../statistics/statistic.ts";
import type { DeploymentDeps } from "../deployment.ts";

/**
 * Counts connections: ratelimit.<scope>.cx_active, cx_total and cx_local_close; and calls:
 * ratelimit.<scope>.calls_failed_fast.
 */
export class PoolStatistics {
  readonly #connections: (active: number) => void;
  readonly #active: StatisticsGauge;
  readonly #total: StatisticsCounter;
  readonly #localClose: StatisticsCounter;
  readonly #failedFast: StatisticsCounter;

  constructor({ statistics, connections }: Pick<DeploymentDeps, "statistics" | "connections">, scope: string) {
    this.#connections = connections;
    this.#active = statistics.gauge(`ratelimit.${scope}.cx_active`);
    this.#total = statistics.counter(`ratelimit.${scope}.cx_total`);
    this.#localClose = statistics.counter(`ratelimit.${scope}.cx_local_close`);
    this.#failedFast = statistics.counter(`ratelimit.${scope}.calls_failed_fast`);
  }

  /** Counts a connection that works from now on. */
  opened(): void {
    this.#total.add(1);
    this.#setActive(this.#active.value + 1);
  }

  /** Counts a working connection that was lost. */
  lost(): void {
    this.#setActive(this.#active.value - 1);
  }

  /** Counts a working connection that is about to be closed by this side; `lost` follows. */
  closing(): void {
    this.#localClose.add(1);
  }

  /** Counts a call that failed immediately, because its server is silent. */
  failedFast(): void {
    this.#failedFast.add(1);
  }

  #setActive(active: number): void {
    this.#active.set(active);
    this.#connections(active);
  }
}
