// The metrics of the process itself and of its requests to the API server. Parts add theirs to the same
// registry.
import type { AnsweredRequest } from "@weir/kubernetes/client/api-client";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

/** Gauges of prom-client with the suffix of counters, which `promtool check metrics` rejects. */
const MISNAMED = [
  "nodejs_active_resources_total",
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
] as const;

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
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
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
