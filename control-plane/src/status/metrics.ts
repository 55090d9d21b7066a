// Metrics for Prometheus: gauges from the rollout report at each scrape, and counters of events.
// Every series exists from the start, and the number of series is bounded.
import { MISNAMED_METRICS } from "@weir/common/admin/misnamed-metrics";
import { collectDefaultMetrics, Counter, Registry } from "prom-client";

import { ADS_REFUSALS, type AdsRefusal } from "../ads/ads-server.ts";
import type { RolloutReport } from "../report/rollout/rollout-report.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PublisherState } from "../snapshot/publisher.ts";
import type { Source } from "../source/source.ts";
import { type CertificateTimes, createGauges } from "./gauges.ts";
import { observePushes } from "./push-metrics.ts";

/** The metrics of one process. */
export interface Metrics {
  /** A client was refused. */
  refused(reason: AdsRefusal): void;
  scrape(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The sources of the metrics. */
export interface MetricsDeps {
  readonly report: () => RolloutReport;
  /** Open ADS streams. */
  readonly streams: () => number;
  /** Clients that watch the rollout. */
  readonly watchers: () => number;
  readonly pods: PodRegistry;
  readonly publisher: () => PublisherState;
  readonly source: Pick<Source, "counts">;
  /** The certificate of the ADS listener. Undefined: no TLS. */
  readonly certificate?: () => CertificateTimes | undefined;
}

/** Makes the metrics with their own registry. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_METRICS) registry.removeSingleMetric(name);
  observePushes(registers, deps);
  const setGauges = createGauges(registers, deps.source.counts !== undefined);
  const refusals = new Counter({
    name: "weir_ads_refusals_total",
    help: "Clients that were refused on the port for pods, by reason.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of ADS_REFUSALS) refusals.inc({ reason }, 0);
  return {
    refused: (reason) => refusals.inc({ reason }),
    scrape: async () => {
      const source = deps.source.counts?.();
      const certificate = deps.certificate?.();
      setGauges({
        report: deps.report(),
        streams: deps.streams(),
        watchers: deps.watchers(),
        source,
        certificate,
      });
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
