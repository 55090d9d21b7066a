// The metrics of the process itself and of its requests to the API server. Parts add theirs to the same
// registry.
import { MISNAMED_METRICS } from "@weir/common/admin/misnamed-metrics";
import type { AnsweredRequest } from "@weir/kubernetes/client/api-client";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

/**
 * Gauges of prom-client over samples of the event loop, which take 0.5 % of a core at a sample every 10 ms
 * and say nothing with fewer of them: each includes the time between two samples.
 * `nodejs_eventloop_lag_seconds`, measured at each scrape, stays.
 */
const SAMPLED = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
  (statistic) => `nodejs_eventloop_lag_${statistic}_seconds`,
);

/** Time between two samples that are not read, in milliseconds: the longest that Node takes. */
const SAMPLE_PERIOD_MS = 2 ** 31 - 1;

/** The metrics of one process. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts a request to the API server. */
  answered(answer: AnsweredRequest): void;
}

/** Makes them. `isLeader` is asked at each scrape; names and labels are those of client-go. */
export function createMetrics(leaseName: string, isLeader: () => boolean): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: SAMPLE_PERIOD_MS });
  for (const name of [...MISNAMED_METRICS, ...SAMPLED]) registry.removeSingleMetric(name);
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, by status code, method and host; <error> is a request without an answer.",
    labelNames: ["code", "method", "host"],
    registers,
  });
  new Gauge({
    name: "leader_election_master_status",
    help: "1 while this replica is the leader, 0 while it is not, by the name of the Lease.",
    labelNames: ["name"],
    registers,
    collect() {
      this.set({ name: leaseName }, isLeader() ? 1 : 0);
    },
  });
  return {
    registry,
    answered: ({ method, host, status }) => requests.inc({ code: status ?? "<error>", method, host }),
  };
}
