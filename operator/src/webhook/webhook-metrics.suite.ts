// Metrics of a webhook for tests.
import { Registry } from "prom-client";

import { WebhookMetrics } from "./webhook-metrics.ts";

/** In a registry of their own by default. */
export function newMetrics(registry = new Registry()): WebhookMetrics {
  return new WebhookMetrics({ registry, monotonicMs: () => performance.now() }, "/validate");
}
