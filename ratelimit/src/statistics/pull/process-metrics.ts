// Metrics of the process itself: CPU, memory, files, event loop, garbage collection. They are
// prom-client's, less those that break its own rules.

/**
 * Gauges whose names end in `_total`, which is for counters only; `promtool check metrics` objects
 * to them.
 */
const MISNAMED = [
  "nodejs_active_resources_total",
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
] as const;

/** Metrics of the process in the text format. */
export interface ProcessMetrics {
  /** The metrics as they are now. */
  render(): Promise<string>;
  /** Ends the observers of the event loop and the collector. */
  close(): void;
}

/**
 * Begins to observe the process. The package is loaded only now, because only pull statistics need
 * it. `extraLabels` stand on every series (EXTRA_TAGS).
 */
export async function observeProcess(extraLabels: ReadonlyMap<string, string>): Promise<ProcessMetrics> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels(Object.fromEntries(extraLabels));
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return { render: () => registry.metrics(), close: () => registry.clear() };
}
