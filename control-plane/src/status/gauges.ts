// The metrics that are read at each scrape, most from the rollout report. Fleets beyond a bound share
// their series, so that the names of fleets cannot create series without end.
import { Counter, Gauge, type Registry } from "prom-client";

import { RESOURCE_ERRORS } from "../errors.ts";
import type { SyncStatus } from "../pods/sync-status.ts";
import type { FleetReport, HoldReason, ResourceStatus, RolloutReport } from "../report/rollout/rollout-report.ts";
import type { SourceCounts } from "../source/source.ts";

/** Most fleets with their own series; the others, by name, are summed up. */
const FLEETS_MAX = 100;

/** The label of all other fleets; no name of a fleet begins like it. */
const FURTHER_FLEETS = "(further)";

/** Every reason for which a resource can be refused or left out. */
const REASONS = Object.keys(RESOURCE_ERRORS);

const HOLDS = ["empty", "too-large"] as const satisfies readonly HoldReason[];
const POD_STATES = ["current", "rejected", "pending", "waiting"] as const satisfies readonly SyncStatus[];
const RESOURCE_STATES = ["served", "last-good", "refused", "quarantined"] as const satisfies readonly ResourceStatus[];

/** Times of a certificate, in milliseconds since the epoch. */
export interface CertificateTimes {
  readonly beginMs: number;
  readonly endMs: number;
}

/** The facts that a scrape reads. */
export interface ScrapedFacts {
  readonly report: RolloutReport;
  /** Open ADS streams. */
  readonly streams: number;
  /** Clients that watch the rollout. */
  readonly watchers: number;
  /** Undefined: the source has no server. */
  readonly source: SourceCounts | undefined;
  /** From when until when the certificate of the ADS listener is valid. Undefined: it has none. */
  readonly certificate: CertificateTimes | undefined;
}

/** A value and the values of its labels; values with equal labels are summed up. */
type Sample = readonly [value: number, ...labels: string[]];

/** Adds a metric: a counter when its name ends in `_total`, else a gauge. */
type Add = (name: string, labelNames: string[], help: string, read: (facts: ScrapedFacts) => readonly Sample[]) => void;

/** Makes the metrics; the function sets them. */
export function createGauges(registers: Registry[], hasSource: boolean): (facts: ScrapedFacts) => void {
  const setters: ((facts: ScrapedFacts) => void)[] = [];
  const add: Add = (name, labelNames, help, read) => {
    const Kind = name.endsWith("_total") ? Counter : Gauge;
    const metric = new Kind({ name, help, labelNames, registers });
    setters.push((facts) => {
      metric.reset();
      for (const [value, ...labels] of read(facts)) metric.labels(...labels).inc(value);
    });
  };
  addFleets(add);
  addReplica(add);
  if (hasSource) addSource(add);
  return (facts) => {
    for (const set of setters) set(facts);
  };
}

function addFleets(add: Add): void {
  const named = ({ report }: ScrapedFacts): readonly FleetReport[] => report.fleets.slice(0, FLEETS_MAX);
  add("weir_snapshot_info", ["fleet", "version"], "Always 1; the labels give the active version of a fleet.", (facts) =>
    named(facts).flatMap(({ fleet, version }): Sample[] => (version === null ? [] : [[1, fleet, version]])),
  );
  add(
    "weir_snapshot_published_timestamp_seconds",
    ["fleet"],
    "When the snapshot became active on this replica; 0 before the first.",
    (facts) => named(facts).map(({ fleet, publishedAt }) => [secondsOf(publishedAt), fleet]),
  );
  const perFleet = (name: string, labels: string[], help: string, read: (fleet: FleetReport) => readonly Sample[]) =>
    add(name, ["fleet", ...labels], help, ({ report: { fleets } }) =>
      fleets.flatMap((fleet, index) => {
        const label = index < FLEETS_MAX ? fleet.fleet : FURTHER_FLEETS;
        return read(fleet).map(([value, ...more]): Sample => [value, label, ...more]);
      }),
    );
  perFleet("weir_snapshot_bytes", [], "Size of the active snapshot, serialised.", ({ bytes }) => [[bytes]]);
  perFleet("weir_snapshot_resources", [], "Resources in the active snapshot.", ({ resources }) => [[resources]]);
  const whenHeld = "1 while newer content is not published, by reason: empty or too-large.";
  perFleet("weir_snapshot_held_back", ["reason"], whenHeld, ({ heldBack }) =>
    HOLDS.map((reason) => [Number(heldBack === reason), reason]),
  );
  const connected = "Connected rate limit pods by their state for the active version.";
  perFleet("weir_pods", ["state"], connected, ({ podStates }) => POD_STATES.map((state) => [podStates[state], state]));
  const behind = "Connected rate limit pods that have not ACKed the active version.";
  perFleet("weir_pods_behind", [], behind, ({ podStates }) => [[podStates.rejected + podStates.pending]]);
  const fleets = "Fleets with a snapshot of their own, and one for all others.";
  add("weir_fleets", [], fleets, ({ report }) => [[report.fleets.length]]);
}

function addReplica(add: Add): void {
  const byState = "Resources by state; last-good counts those of which an earlier revision is served.";
  add("weir_resources", ["state"], byState, ({ report }) =>
    RESOURCE_STATES.map((state) => [countState(report, state), state]),
  );
  const byReason = "Resources, and files without a name, that are not served as written, by reason.";
  add("weir_refused_resources", ["reason"], byReason, ({ report }) =>
    REASONS.map((reason) => [countReason(report, reason), reason]),
  );
  const quarantined = "Resources that a connected pod NACKed, so that it is sent an earlier revision, or none.";
  add("weir_quarantined_resources", [], quarantined, ({ report }) => [[countState(report, "quarantined")]]);
  const unreadable = "1 while the source cannot be read and what was read before stays active.";
  add("weir_source_unreadable", [], unreadable, ({ report }) => [[Number(report.source.error !== null)]]);
  const synced = "When the source was last known to be synchronised with its origin; 0 before the first time.";
  add("weir_source_last_sync_timestamp_seconds", [], synced, ({ report }) => [[secondsOf(report.source.syncedAt)]]);
  add("weir_ready", [], "1 while the replica serves configuration.", ({ report }) => [[Number(report.ready)]]);
  const expiry = "When the certificate of the ADS listener expires; no series without TLS.";
  add("weir_ads_certificate_expiry_timestamp_seconds", [], expiry, ({ certificate }) =>
    certificate === undefined ? [] : [[certificate.endMs / 1000]],
  );
  const begin = "When the certificate of the ADS listener became valid; no series without TLS.";
  add("weir_ads_certificate_not_before_timestamp_seconds", [], begin, ({ certificate }) =>
    certificate === undefined ? [] : [[certificate.beginMs / 1000]],
  );
  add("weir_ads_streams", [], "Open ADS streams.", ({ streams }) => [[streams]]);
  add("weir_rollout_watchers", [], "Clients that watch the rollout.", ({ watchers }) => [[watchers]]);
}

function addSource(add: Add): void {
  const lists = "Lists that were read from the API server.";
  add("weir_source_lists_total", [], lists, ({ source }) => [[source?.lists ?? 0]]);
  const readable =
    "1 while last good revisions (RateLimitConfigRevisions) can be read; 0: none from before this process is served.";
  add("weir_source_last_good_readable", [], readable, ({ source }) => [[Number(source?.readsLastGood ?? false)]]);
  const watches = "Watches that were opened at the API server.";
  add("weir_source_watches_total", [], watches, ({ source }) => [[source?.watches ?? 0]]);
  add("weir_source_failures_total", ["kind"], "Requests to the API server that failed, by kind.", ({ source }) =>
    Object.entries(source?.failures ?? {}).map(([kind, count]) => [count, kind]),
  );
}

/** 0 when there is no time. */
function secondsOf(time: string | null): number {
  return time === null ? 0 : Date.parse(time) / 1000;
}

function countState({ resources }: RolloutReport, wanted: ResourceStatus): number {
  return resources.filter(({ state }) => state === wanted).length;
}

/** A file with several problems counts once. */
function countReason({ resources, refusals }: RolloutReport, wanted: string): number {
  const unnamed = refusals.filter(({ resource, reason }) => resource === null && reason === wanted);
  return resources.filter(({ reason }) => reason === wanted).length + new Set(unnamed.map(({ file }) => file)).size;
}
