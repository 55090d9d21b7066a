// The health of the process: healthy only while every component is. It knows neither probes nor
// transports; they ask it or listen to it.

/**
 * What can make the process unhealthy. `start`: not serving yet. `cache`: the counter store has no
 * connection, if that is to count. `config`: no domain is loaded, if that is to count. `signal`:
 * told to stop.
 */
export type HealthComponent = "start" | "cache" | "config" | "signal";

/** Hears of changes of the whole. */
export type HealthListener = (isHealthy: boolean) => void;

/** The health of the process. */
export interface Health {
  /** Whether every component that takes part is healthy. */
  isHealthy(): boolean;
  /**
   * Says how a component is. Components that do not take part are ignored, so that their owners
   * need not know.
   */
  set(component: HealthComponent, isHealthy: boolean): void;
  /** Calls the listener at each change of the whole; the returned function ends this. */
  onChange(listener: HealthListener): () => void;
}

/** Which optional components take part. */
export interface HealthOptions {
  /** HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED. Default false. */
  readonly withConfig: boolean;
  /** KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION. Default false. */
  readonly withActiveConnection: boolean;
}

/**
 * Health at the start: unhealthy until `start` (and `config`, where it takes part) are reported
 * healthy.
 */
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
