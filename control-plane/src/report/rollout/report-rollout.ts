// Makes the rollout report from the state of the publisher and the answers of the pods. Pure.
import type { Refusal } from "../../translate/desired-configuration.ts";
import type { PodState, VersionEvent } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import { entryFor, OTHER_FLEETS, publicationFor } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { SourceCondition } from "../../source/source.ts";
import { addFleetWarnings } from "./fleet-warnings.ts";
import { type FleetMembers, groupPods } from "./pod-groups.ts";
import { namedRefusals, reportResources, tooLargeRefusals } from "./report-resources.ts";
import type { FleetReport, PodReportEntry, RefusalReport, RolloutFilter, RolloutReport } from "./rollout-report.ts";

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
  const pods = facts.pods.filter(({ fleet }) => isOfFleet(fleet, publisher, filter));
  const shown = filter.fleet === undefined ? undefined : entryFor(publication, filter.fleet);
  const fleets = membersOf(publisher, pods).filter(({ fleet }) => shown === undefined || fleet === shown);
  const refusals = namedRefusals(publisher, [...(publisher.desired?.refusals ?? []), ...tooLargeRefusals(publisher)]);
  const { fleets: grouped, groupOf } = groupPods(fleets, publisher);
  const resources = reportResources(publisher, refusals, grouped, filter);
  return {
    replica,
    instance,
    observedAt: formatTime(nowMs),
    ready: notReady === undefined,
    notReady: notReady ?? null,
    source: {
      location: facts.source.location,
      error: publisher.sourceError ?? problem ?? null,
      syncedAt: formatTime(syncedMs),
    },
    fleets: fleets.map((members) => reportFleet(members, publisher)),
    resources,
    refusals: reportRefusals(refusals, new Set(resources.map(({ resource }) => resource)), filter),
    pods: pods.map((pod) => {
      const version = publicationFor(publication, pod.fleet)?.snapshot?.version;
      return reportPod(pod, { version, group: groupOf.get(pod) ?? 0 });
    }),
  };
}

/** The pods of each fleet: first the one for all others, then the named ones, sorted. */
function membersOf({ publication }: PublisherState, pods: readonly PodState[]): readonly FleetMembers[] {
  const byFleet = Map.groupBy(pods, ({ fleet }) => entryFor(publication, fleet));
  return [...publication.keys()].toSorted(compareCodeUnits).map((fleet) => ({ fleet, pods: byFleet.get(fleet) ?? [] }));
}

/** Returns true if the filter includes pods of this fleet. */
function isOfFleet(fleet: string, { publication }: PublisherState, filter: RolloutFilter): boolean {
  if (filter.fleet === undefined || filter.fleet === fleet) return true;
  return filter.fleet === OTHER_FLEETS && !publication.has(fleet);
}

function reportFleet({ fleet, pods }: FleetMembers, publisher: PublisherState): FleetReport {
  const { snapshot, hold } = publisher.publication.get(fleet) ?? {};
  const publishedMs = publisher.publishedMs.get(fleet);
  const podStates = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  for (const pod of pods) podStates[syncStatusOf(pod, snapshot?.version)] += 1;
  const isWaiting = publisher.admission?.waiting.some(({ resource: { fleets } }) => fleets?.includes(fleet) ?? true);
  return {
    fleet,
    version: snapshot?.version ?? null,
    resources: snapshot?.revisions.length ?? 0,
    bytes: snapshot?.sizeBytes ?? 0,
    publishedAt: formatTime(publishedMs),
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
    .map(({ place, resource, uid: _uid, generation: _generation, ...refusal }) => ({
      resource: resource ?? null,
      ...place,
      ...refusal,
    }));
}

function reportPod(
  pod: PodState,
  { version, group }: { readonly version: string | undefined; readonly group: number },
): PodReportEntry {
  const { nodeId, pod: name, namespace, fleet, peer, connectedMs, sent, accepted, rejected } = pod;
  return {
    node: nodeId,
    pod: name,
    namespace,
    fleet,
    peer,
    connectedAt: formatTime(connectedMs),
    state: syncStatusOf(pod, version),
    sent: reportEvent(sent),
    accepted: reportEvent(accepted),
    rejected: reportEvent(rejected),
    warnings: [],
    group,
  };
}

function reportEvent<Event extends VersionEvent>(event: Event | undefined) {
  if (event === undefined) return null;
  const { atMs, ...more } = event;
  return { ...more, at: formatTime(atMs) };
}

function formatTime(ms: number): string;
function formatTime(ms: number | undefined): string | null;
function formatTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
