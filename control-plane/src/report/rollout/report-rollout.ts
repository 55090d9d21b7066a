// Makes the rollout report from the state of the publisher and the answers of the pods. Pure.
import type { Refusal } from "../../assemble/desired-configuration.ts";
import type { PodState, VersionEvent } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import { fleetName } from "../../snapshot/publication-log.ts";
import { OTHER_FLEETS, publicationFor } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { SourceCondition } from "../../source/source.ts";
import { addFleetWarnings } from "./fleet-warnings.ts";
import { type FleetMembers, reportResources, tooLargeRefusals } from "./report-resources.ts";
import type {
  FleetReport,
  PodReportEntry,
  RefusalReport,
  RolloutFilter,
  RolloutReport,
  VersionReport,
} from "./rollout-report.ts";

/** The input of a report. */
export interface RolloutFacts {
  readonly replica: string;
  readonly instance: string;
  readonly nowMs: number;
  /** Why the replica is not ready; undefined when it is. */
  readonly notReady: string | undefined;
  readonly source: { readonly location: string; condition(): SourceCondition };
  readonly publisher: PublisherState;
  readonly pods: readonly PodState[];
}

/** Makes the report. */
export function reportRollout(facts: RolloutFacts, filter: RolloutFilter = {}): RolloutReport {
  return addFleetWarnings(reportFacts(facts, filter), facts.pods, facts.publisher.desired?.accepted ?? []);
}

function reportFacts(facts: RolloutFacts, filter: RolloutFilter): RolloutReport {
  const { replica, instance, nowMs, notReady, publisher } = facts;
  const { syncedMs, problem } = facts.source.condition();
  const { publication } = publisher;
  const pods = facts.pods.filter((pod) => isOfFleet(pod.fleet, publisher, filter));
  const fleets = membersOf(publisher, pods).filter(({ fleet }) => isShown(fleet, publisher, filter));
  const refusals = [...(publisher.desired?.refusals ?? []), ...tooLargeRefusals(publisher)];
  const resources = reportResources(publisher, refusals, fleets, filter);
  return {
    replica,
    instance,
    observedAt: formatTime(nowMs),
    ready: notReady === undefined,
    notReady: notReady ?? null,
    source: {
      location: facts.source.location,
      error: publisher.sourceError ?? problem ?? null,
      syncedAt: syncedMs === undefined ? null : formatTime(syncedMs),
    },
    fleets: fleets.map((members) => reportFleet(members, publisher)),
    resources,
    refusals: reportRefusals(refusals, new Set(resources.map(({ resource }) => resource)), filter),
    pods: pods.map((pod) => reportPod(pod, publicationFor(publication, pod.fleet)?.snapshot?.version)),
  };
}

/** The pods of each fleet: first the one for all others, then the named ones, sorted. */
function membersOf({ publication }: PublisherState, pods: readonly PodState[]): readonly FleetMembers[] {
  const byFleet = Map.groupBy(pods, ({ fleet }) => (publication.has(fleet) ? fleet : OTHER_FLEETS));
  return [...publication.keys()].toSorted(compareCodeUnits).map((fleet) => ({ fleet, pods: byFleet.get(fleet) ?? [] }));
}

/** Whether the filter includes pods of this fleet. */
function isOfFleet(fleet: string, { publication }: PublisherState, filter: RolloutFilter): boolean {
  if (filter.fleet === undefined || filter.fleet === fleet) return true;
  return filter.fleet === fleetName(OTHER_FLEETS) && !publication.has(fleet);
}

/** Whether pods of the filter's fleet get the entry: its own, else the one for all others. */
function isShown(entry: string, { publication }: PublisherState, { fleet }: RolloutFilter): boolean {
  if (fleet === undefined || fleet === fleetName(entry)) return true;
  return entry === OTHER_FLEETS && !publication.has(fleet);
}

function reportFleet({ fleet, pods }: FleetMembers, publisher: PublisherState): FleetReport {
  const { snapshot, hold } = publisher.publication.get(fleet) ?? {};
  const publishedMs = publisher.publishedMs.get(fleet);
  const podStates = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  for (const pod of pods) podStates[syncStatusOf(pod, snapshot?.version)] += 1;
  const isWaiting = publisher.admission?.waiting.some(({ resource: { fleets } }) => fleets?.includes(fleet) ?? true);
  return {
    fleet: fleetName(fleet),
    version: snapshot?.version ?? null,
    resources: snapshot?.forms.length ?? 0,
    bytes: snapshot?.sizeBytes ?? 0,
    publishedAt: publishedMs === undefined ? null : formatTime(publishedMs),
    heldBack: hold !== undefined ? "empty" : isWaiting === true ? "too-large" : null,
    pods: pods.length,
    podStates,
  };
}

/** Refusals of the reported resources; those without a name unless a filter names a resource. */
function reportRefusals(
  refusals: readonly Refusal[],
  shown: ReadonlySet<string>,
  filter: RolloutFilter,
): readonly RefusalReport[] {
  const isNarrow = filter.namespace !== undefined || filter.name !== undefined;
  return refusals
    .filter(({ resource }) => (resource === undefined ? !isNarrow : shown.has(resource)))
    .map(({ place: { file, line, column }, resource, reason, field, message, keepsLastGood }) => ({
      reason,
      resource: resource ?? null,
      file,
      line,
      column,
      field,
      message,
      keepsLastGood,
    }));
}

function reportPod(pod: PodState, version: string | undefined): PodReportEntry {
  const { nodeId, pod: name, namespace, fleet, peer, connectedMs, sent, accepted, rejected } = pod;
  return {
    node: nodeId,
    pod: name,
    namespace,
    fleet,
    peer,
    connectedAt: formatTime(connectedMs),
    state: syncStatusOf(pod, version),
    sent: sent === undefined ? null : reportVersion(sent),
    accepted: accepted === undefined ? null : reportVersion(accepted),
    rejected: rejected === undefined ? null : { ...reportVersion(rejected), message: rejected.message },
    warnings: [],
  };
}

function reportVersion({ version, atMs }: VersionEvent): VersionReport {
  return { version, at: formatTime(atMs) };
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}
