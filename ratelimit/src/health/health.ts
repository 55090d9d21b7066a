// The health of the process: healthy only while every component is.
import { Listeners } from "@weir/common/lifecycle/listeners";

/**
 * A reason to be unhealthy. `start`: not serving yet. `cache`: no connection to the counter store.
 * `config`: no domain is loaded. `signal`: stopping. Options turn `cache` and `config` on.
 */
export type HealthComponent = "start" | "cache" | "config" | "signal";

/** The optional components. */
export interface HealthOptions {
  /** HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED. Default false. */
  readonly withConfig: boolean;
  /** KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION. Default false. */
  readonly withActiveConnection: boolean;
}

/** The health of the process: unhealthy until `start` (and `config`, if it is on) are healthy. */
export class Health {
  readonly #components = new Map<HealthComponent, boolean>([
    ["start", false],
    ["signal", true],
  ]);
  readonly #listeners = new Listeners<boolean>();

  constructor({ withConfig, withActiveConnection }: HealthOptions) {
    if (withActiveConnection) this.#components.set("cache", true);
    if (withConfig) this.#components.set("config", false);
  }

  /** Returns true if every component is healthy. */
  isHealthy(): boolean {
    return this.#components.values().every((isHealthy) => isHealthy);
  }

  /** Sets the state of a component; one that is turned off is ignored. */
  set(component: HealthComponent, isHealthy: boolean): void {
    if (!this.#components.has(component)) return;
    const before = this.isHealthy();
    this.#components.set(component, isHealthy);
    const after = this.isHealthy();
    if (after !== before) this.#listeners.notify(after);
  }

  /** Calls the listener at each change of the health; the returned function ends this. */
  onChange(listener: (isHealthy: boolean) => void): () => void {
    return this.#listeners.add(listener);
  }
}
