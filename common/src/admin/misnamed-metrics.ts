// Metrics of prom-client that no program of Weir shows.

/** Gauges with the suffix of counters, which `promtool check metrics` rejects. */
export const MISNAMED_METRICS = [
  "nodejs_active_resources_total",
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
] as const;
