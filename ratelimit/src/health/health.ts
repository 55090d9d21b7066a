// The health of the process: healthy only while every component is.

/**
 * A reason to be unhealthy. `start`: not serving yet. `cache`: no connection to the counter store.
 * `config`: no domain is loaded. `signal`: stopping. Options turn `cache` and `config` on.
 */
export type HealthComponent = "start" | "cache" | "config" | "signal";

/** Receives changes of the health. */
export type HealthListener = (isHealthy: boolean) => void;

/** The health of the process. */
export interface Health {
  /** Whether every component is healthy. */
  isHealthy(): boolean;
  /** Sets the state of a component; one that is turned off is ignored. */
  set(component: HealthComponent, isHealthy: boolean): void;
  /** Calls the listener at each change of the health; the returned function ends this. */
  onChange(listener: HealthListener): () => void;
}

/** The optional components. */
export interface HealthOptions {
  /** HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED. Default false. */
  readonly withConfig: boolean;
  /** KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION. Default false. */
  readonly withActiveConnection: boolean;
}

/** Creates the health, unhealthy until `start` (and `config`, if it is on) are healthy. */
export function createHealth(options: HealthOptions): Health {
  const components = new Map<HealthComponent, boolean>([
    ["start", false],
    ["signal", true],
  ]);
  if (options.withActiveConnection) components.set("cache", true);
  if (options.withConfig) components.set("config", false);
  const listeners = new Set<HealthListener>();
  const isHealthy = (): boolean => [...components.values()].every((healthy) => healthy);
  return {
    isHealthy,
    set(component, healthy) {
      if (!components.has(component)) return;
      const before = isHealthy();
      components.set(component, healthy);
      const after = isHealthy();
      if (after !== before) for (const listener of [...listeners]) listener(after);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
