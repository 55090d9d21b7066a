// The gauges, computed from the rollout report. Fleets beyond a bound share their series, so that
// the names of fleets cannot create series without end.
import { Gauge, type Registry } from "prom-client";

import { RESOURCE_ERRORS } from "../errors.ts";
import type { SyncStatus } from "../pods/sync-status.ts";
import type { FleetReport, HoldReason, ResourceStatus, RolloutReport } from "../report/rollout/rollout-report.ts";

/** Most fleets with their own series; the others, by name, are summed up. */
const FLEETS_MAX = 100;

/** The label of all other fleets; no name of a fleet begins like it. */
const FURTHER_FLEETS = "(further)";

/** Every reason for which a resource can be refused or left out. */
const REASONS = Object.keys(RESOURCE_ERRORS);

const HOLDS = ["empty", "too-large"] as const satisfies readonly HoldReason[];
const POD_STATES = ["current", "rejected", "pending", "waiting"] as const satisfies readonly SyncStatus[];
const RESOURCE_STATES = ["served", "last-good", "refused", "quarantined"] as const satisfies readonly ResourceStatus[];

/** Numbers that the report lacks. */
export interface OpenConnections {
  /** ADS streams. */
  readonly streams: number;
  /** Watches of the rollout. */
  readonly watchers: number;
}

/** Makes the gauges; the function sets them. */
export function createGauges(registers: Registry[]): (report: RolloutReport, open: OpenConnections) => void {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers });
  const setFleets = createFleetGauges(gauge);
  const resources = gauge(
    "weir_resources",
    "Resources by state; last-good counts those of which an earlier form is served.",
    ["state"],
  );
  const refused = gauge(
    "weir_refused_resources",
    "Resources, and files without a name, that are not served as written, by reason.",
    ["reason"],
  );
  const quarantined = gauge(
    "weir_quarantined_resources",
    "Resources that a connected pod NACKed, so that it is sent an earlier form, or none.",
  );
  const unreadable = gauge(
    "weir_source_unreadable",
    "1 while the source cannot be read and what was read before stays active.",
  );
  const synced = gauge(
    "weir_source_last_sync_timestamp_seconds",
    "When the source was last known to be synchronised with its origin; 0 before the first time.",
  );
  const ready = gauge("weir_ready", "1 while the replica serves configuration.");
  const streams = gauge("weir_ads_streams", "Open ADS streams.");
  const watchers = gauge("weir_rollout_watchers", "Clients that watch the rollout.");
  return (report, open) => {
    setFleets(report.fleets);
    for (const state of RESOURCE_STATES)
      resources.set({ state }, report.resources.filter((resource) => resource.state === state).length);
    for (const reason of REASONS) refused.set({ reason }, countReason(report, reason));
    quarantined.set(report.resources.filter(({ state }) => state === "quarantined").length);
    unreadable.set(report.source.error === null ? 0 : 1);
    synced.set(report.source.syncedAt === null ? 0 : Date.parse(report.source.syncedAt) / 1000);
    ready.set(report.ready ? 1 : 0);
    streams.set(open.streams);
    watchers.set(open.watchers);
  };
}

type MakeGauge = <Label extends string = never>(name: string, help: string, labelNames?: Label[]) => Gauge<Label>;

function createFleetGauges(gauge: MakeGauge): (fleets: readonly FleetReport[]) => void {
  const info = gauge("weir_snapshot_info", "Always 1; the labels give the active version of a fleet.", [
    "fleet",
    "version",
  ]);
  const published = gauge(
    "weir_snapshot_published_timestamp_seconds",
    "When the snapshot became active on this replica; 0 before the first.",
    ["fleet"],
  );
  const bytes = gauge("weir_snapshot_bytes", "Size of the active snapshot, serialised.", ["fleet"]);
  const resources = gauge("weir_snapshot_resources", "Resources in the active snapshot.", ["fleet"]);
  const held = gauge(
    "weir_snapshot_held_back",
    "1 while newer content is not published, by reason: empty or too-large.",
    ["fleet", "reason"],
  );
  const pods = gauge("weir_pods", "Connected rate limit pods by their state for the active version.", [
    "fleet",
    "state",
  ]);
  const behind = gauge("weir_pods_behind", "Connected rate limit pods that have not ACKed the active version.", [
    "fleet",
  ]);
  const total = gauge("weir_fleets", "Fleets with a snapshot of their own, and one for all others.");
  return (fleets) => {
    for (const perFleet of [info, published, bytes, resources, held, pods, behind]) perFleet.reset();
    total.set(fleets.length);
    fleets.forEach((report, index) => {
      const fleet = index < FLEETS_MAX ? report.fleet : FURTHER_FLEETS;
      if (index < FLEETS_MAX) {
        if (report.version !== null) info.set({ fleet, version: report.version }, 1);
        published.set({ fleet }, report.publishedAt === null ? 0 : Date.parse(report.publishedAt) / 1000);
      }
      bytes.inc({ fleet }, report.bytes);
      resources.inc({ fleet }, report.resources);
      for (const reason of HOLDS) held.inc({ fleet, reason }, report.heldBack === reason ? 1 : 0);
      for (const state of POD_STATES) pods.inc({ fleet, state }, report.podStates[state]);
      behind.inc({ fleet }, report.podStates.rejected + report.podStates.pending);
    });
  };
}

/** A file with several problems counts once. */
function countReason({ resources, refusals }: RolloutReport, reason: string): number {
  const unnamed = refusals.filter((refusal) => refusal.resource === null && refusal.reason === reason);
  return (
    resources.filter((resource) => resource.reason === reason).length + new Set(unnamed.map(({ file }) => file)).size
  );
}
