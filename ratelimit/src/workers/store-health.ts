// The connection to the counter store in the health of the service: every process needs one.
import type { Health, HealthComponent } from "../health/health.ts";

/** The number of this process, which is no worker's. */
const PARENT = -1;

/** Which processes are connected. */
export class StoreHealth {
  readonly #health: Health;
  readonly #isConnected = new Map<number, boolean>();

  constructor(health: Health) {
    this.#health = health;
  }

  /** The state of this process; other components are the health's own. */
  set(component: HealthComponent, isHealthy: boolean): void {
    if (component === "cache") this.report(PARENT, isHealthy);
    else this.#health.set(component, isHealthy);
  }

  /** The state of a worker; undefined when it has ended. */
  report(worker: number, isConnected: boolean | undefined): void {
    if (isConnected === undefined) this.#isConnected.delete(worker);
    else this.#isConnected.set(worker, isConnected);
    this.#health.set(
      "cache",
      this.#isConnected.values().every((each) => each),
    );
  }
}
