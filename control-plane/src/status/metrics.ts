// Metrics for Prometheus. Gauges are computed from the state at each scrape; counters are counted where things happen. Every series is there from the start.
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

import type { AdsCounters } from "../ads/pod-stream.ts";
import { RESOURCE_ERRORS } from "../errors.ts";
import type { RolloutReport } from "../report/rollout-report.ts";

/** Every reason for which a resource can be refused. */
const REASONS = Object.keys(RESOURCE_ERRORS);

/** The states of a pod, as the status report has them. */
const POD_STATES = ["current", "rejected", "pending", "waiting"] as const;

/** The metrics of one process. */
export interface Metrics {
  readonly counters: AdsCounters;
  /** The content type and text of a scrape. */
  scrape(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** What gauges are computed from. */
export interface MetricsDeps {
  readonly report: () => RolloutReport;
  readonly streams: () => number;
}

/** Makes the metrics; each call has a registry of its own. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const registers = [new Registry()];
  const [registry] = registers;
  if (registry === undefined) throw new TypeError("No registry");
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const pushes = counter("weir_ads_pushes_total", "Responses sent to rate limit pods.");
  const acknowledgements = counter("weir_ads_acks_total", "Responses that a rate limit pod accepted.");
  const rejections = counter("weir_ads_nacks_total", "Responses that a rate limit pod rejected.");
  const setGauges = createGauges(registers);
  return {
    counters: {
      pushed: () => pushes.inc(),
      acknowledged: () => acknowledgements.inc(),
      rejected: () => rejections.inc(),
    },
    scrape: async () => {
      setGauges(deps.report(), deps.streams());
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function createGauges(registers: Registry[]): (report: RolloutReport, streams: number) => void {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers });
  const info = gauge("weir_snapshot_info", "Always 1; the labels tell which version is in force for a fleet.", ["fleet", "version"]);
  const bytes = gauge("weir_snapshot_bytes", "Size of the snapshot that is in force, serialised.", ["fleet"]);
  const inSnapshot = gauge("weir_snapshot_resources", "Resources in the snapshot that is in force.", ["fleet"]);
  const held = gauge("weir_snapshot_held_back", "1 while newer content is not published, by reason: empty, too-large or rejected.", [
    "fleet",
    "reason",
  ]);
  const resources = gauge("weir_resources", "Resources that are served; last-good counts those of which an earlier form is.", ["state"]);
  const refused = gauge("weir_refused_resources", "Problems for which something is not served as it is written.", ["reason"]);
  const unreadable = gauge("weir_source_unreadable", "1 while the source cannot be read and what was read before stays in force.");
  const open = gauge("weir_ads_streams", "Open ADS streams.");
  const pods = gauge("weir_pods", "Connected rate limit pods by what they made of the version in force.", ["fleet", "state"]);
  return (report, streams) => {
    for (const perFleet of [info, bytes, inSnapshot, held, pods]) perFleet.reset();
    for (const fleet of report.fleets) {
      if (fleet.version !== null) info.set({ fleet: fleet.fleet, version: fleet.version }, 1);
      bytes.set({ fleet: fleet.fleet }, fleet.bytes);
      inSnapshot.set({ fleet: fleet.fleet }, fleet.resources);
      for (const reason of ["empty", "too-large", "rejected"]) held.set({ fleet: fleet.fleet, reason }, fleet.heldBack === reason ? 1 : 0);
      for (const state of POD_STATES) pods.set({ fleet: fleet.fleet, state }, fleet.podStates[state]);
    }
    for (const state of ["served", "last-good"]) {
      resources.set({ state }, report.resources.filter((resource) => resource.state === state).length);
    }
    for (const reason of REASONS) refused.set({ reason }, report.refusals.filter((refusal) => refusal.reason === reason).length);
    unreadable.set(report.source.error === null ? 0 : 1);
    open.set(streams);
  };
}
