// The rollout report as the message of the rollout API, and the filter of its requests. Pure.
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  FleetSchema,
  Hold,
  PodSchema,
  PodState,
  ProblemSchema,
  ResourceSchema,
  ResourceState,
  type Rollout,
  type RolloutFilter as FilterMessage,
  RolloutSchema,
  type VersionEvent,
  VersionEventSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { SyncStatus } from "../../pods/sync-status.ts";
import type {
  FleetReport,
  HoldReason,
  PlaceReport,
  PodReportEntry,
  SyncStatusCounts,
  ProblemReport,
  ResourceReport,
  ResourceStatus,
  RolloutFilter,
  RolloutReport,
  VersionReport,
} from "./rollout-report.ts";

const HOLDS = { empty: Hold.EMPTY, "too-large": Hold.TOO_LARGE } as const satisfies Record<HoldReason, Hold>;

const POD_STATES = {
  current: PodState.ACCEPTED,
  rejected: PodState.REJECTED,
  pending: PodState.PENDING,
  waiting: PodState.UNSPECIFIED,
} as const satisfies Record<SyncStatus, PodState>;

const RESOURCE_STATES = {
  served: ResourceState.SERVED,
  "last-good": ResourceState.REFUSED,
  refused: ResourceState.REFUSED,
  quarantined: ResourceState.QUARANTINED,
} as const satisfies Record<ResourceStatus, ResourceState>;

/** The report as a message. */
export function rolloutMessage(report: RolloutReport): Rollout {
  const { replica, instance, observedAt, ready, source, fleets, resources, refusals, pods } = report;
  return create(RolloutSchema, {
    replica,
    instance,
    observedAt: timeOf(observedAt),
    ready,
    source: {
      location: source.location,
      error: source.error ?? "",
      ...(source.syncedAt === null ? {} : { syncedAt: timeOf(source.syncedAt) }),
    },
    fleets: fleets.map(fleetMessage),
    resources: resources.map(resourceMessage),
    unreadable: refusals
      .filter(({ resource }) => resource === null)
      .map((refusal) => ({ location: locationOf(refusal), message: wordsOf(refusal) })),
    pods: pods.map(podMessage),
  });
}

function wordsOf({ field, message }: RolloutReport["refusals"][number]): string {
  return field === "" ? message : `${field}: ${message}`;
}

/** The filter of a request; empty fields filter nothing. */
export function filterOf(message: FilterMessage | undefined): RolloutFilter {
  const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text);
  return { fleet: given(message?.fleet), namespace: given(message?.namespace), name: given(message?.name) };
}

function fleetMessage({ fleet, version, resources, bytes, publishedAt, heldBack, pods, podStates }: FleetReport) {
  return create(FleetSchema, {
    name: fleet,
    version: version ?? "",
    resources,
    bytes: BigInt(bytes),
    ...(publishedAt === null ? {} : { publishedAt: timeOf(publishedAt) }),
    hold: heldBack === null ? Hold.UNSPECIFIED : HOLDS[heldBack],
    pods: countsOf(pods, podStates),
  });
}

function resourceMessage(report: ResourceReport) {
  const { namespace, name, domain, servesLastGood } = report;
  return create(ResourceSchema, {
    namespace,
    name,
    domain,
    generation: BigInt(report.generation ?? 0),
    fleets: [...(report.fleets ?? [])],
    state: RESOURCE_STATES[report.state],
    reason: report.reason ?? "",
    problems: report.problems.map(problemMessage),
    servesLastGood,
    pods: countsOf(report.pods, report.podStates),
    location: locationOf({ file: report.file, line: report.line, column: 0 }),
    warnings: [...report.warnings],
  });
}

function problemMessage({ field, message, ...place }: ProblemReport) {
  return create(ProblemSchema, { field, message, location: locationOf(place) });
}

function podMessage(entry: PodReportEntry) {
  const { node: nodeId, pod, namespace, fleet, peer, connectedAt, state, sent, accepted, rejected } = entry;
  return create(PodSchema, {
    nodeId,
    pod,
    namespace,
    fleet,
    peer,
    connectedAt: timeOf(connectedAt),
    state: POD_STATES[state],
    ...(sent === null ? {} : { sent: eventOf(sent) }),
    ...(accepted === null ? {} : { accepted: eventOf(accepted) }),
    ...(rejected === null ? {} : { rejected: eventOf(rejected), rejection: rejected.message }),
    warnings: [...entry.warnings],
  });
}

function countsOf(total: number, { current, rejected, pending, waiting }: SyncStatusCounts) {
  return { total, accepted: current, rejected, pending: pending + waiting };
}

function eventOf({ version, at }: VersionReport): VersionEvent {
  return create(VersionEventSchema, { version, at: timeOf(at) });
}

/** `file:line:column` as far as it is known. */
function locationOf({ file, line, column }: PlaceReport): string {
  return [file, ...(line === 0 ? [] : [line, ...(column === 0 ? [] : [column])])].join(":");
}

function timeOf(time: string): Timestamp {
  return timestampFromDate(new Date(time));
}
