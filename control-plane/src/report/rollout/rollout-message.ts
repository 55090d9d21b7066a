// The rollout report as the message of the rollout API, and the filter of its requests. Pure.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type FleetSchema,
  Hold,
  type PodSchema,
  PodState,
  type ResourceFleetSchema,
  type ResourceSchema,
  ResourceState,
  type Rollout,
  RolloutSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { SyncStatus } from "../../pods/sync-status.ts";
import type { SourceLocation } from "../../source/source.ts";
import type {
  FleetReport,
  HoldReason,
  PodCounts,
  PodReportEntry,
  ResourceFleetReport,
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
    source: { location: source.location, error: source.error ?? "", syncedAt: timeOf(source.syncedAt) },
    fleets: fleets.map(fleetMessage),
    resources: resources.map(resourceMessage),
    unreadable: refusals
      .filter(({ resource }) => resource === null)
      .map(({ field, message, keepsLastGood, ...place }) => ({
        location: locationOf(place),
        message: field === "" ? message : `${field}: ${message}`,
        servesLastGood: keepsLastGood,
      })),
    pods: pods.map(podMessage),
  });
}

/** The filter of a request; empty fields filter nothing. */
export function filterOf(asked: RolloutFilter | undefined, settledDigests = false): RolloutFilter {
  const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text);
  return { fleet: given(asked?.fleet), namespace: given(asked?.namespace), name: given(asked?.name), settledDigests };
}

function fleetMessage(report: FleetReport): MessageInitShape<typeof FleetSchema> {
  return {
    name: report.fleet,
    version: report.version ?? "",
    resources: report.resources,
    bytes: BigInt(report.bytes),
    publishedAt: timeOf(report.publishedAt),
    hold: report.heldBack === null ? Hold.UNSPECIFIED : HOLDS[report.heldBack],
    pods: countsOf(report),
  };
}

function resourceMessage(report: ResourceReport): MessageInitShape<typeof ResourceSchema> {
  const { namespace, name, domain, servesLastGood } = report;
  return {
    namespace,
    name,
    domain,
    generation: BigInt(report.generation ?? 0),
    fleets: [...(report.fleets ?? [])],
    state: RESOURCE_STATES[report.state],
    reason: report.reason ?? "",
    problems: report.problems.map(({ field, message, reason, ...place }) => ({
      field,
      message,
      reason,
      location: locationOf(place),
    })),
    servesLastGood,
    pods: countsOf(report),
    location: locationOf({ ...report, column: 0 }),
    warnings: [...report.warnings],
    uid: report.uid ?? "",
    observedGeneration: BigInt(report.observedGeneration ?? 0),
    fleetStates: report.fleetStates.map(fleetStateMessage),
    settledDigest: report.settledDigest ?? "",
  };
}

function fleetStateMessage(report: ResourceFleetReport): MessageInitShape<typeof ResourceFleetSchema> {
  const { fleet: name, digest, acceptedGroups, pendingGroups, rejections } = report;
  return {
    name,
    digest,
    acceptedGroups: [...acceptedGroups],
    pendingGroups: [...pendingGroups],
    rejections: rejections.map(({ activeDigest, ...rest }) => ({ ...rest, activeDigest: activeDigest ?? "" })),
  };
}

function podMessage(report: PodReportEntry): MessageInitShape<typeof PodSchema> {
  const { node: nodeId, pod, namespace, fleet, peer, rejected } = report;
  return {
    nodeId,
    pod,
    namespace,
    fleet,
    peer,
    connectedAt: timeOf(report.connectedAt),
    state: POD_STATES[report.state],
    sent: eventOf(report.sent),
    accepted: eventOf(report.accepted),
    rejected: eventOf(rejected),
    rejection: rejected?.message ?? "",
    warnings: [...report.warnings],
    group: report.group,
  };
}

function countsOf({ pods, podStates: { current, rejected, pending, waiting } }: PodCounts) {
  return { total: pods, accepted: current, rejected, pending: pending + waiting };
}

function eventOf(event: VersionReport | null) {
  return event === null ? undefined : { version: event.version, at: timeOf(event.at) };
}

/** `file:line:column` as far as it is known. */
function locationOf({ file, line, column }: SourceLocation): string {
  return [file, ...(line === 0 ? [] : [line, ...(column === 0 ? [] : [column])])].join(":");
}

function timeOf(time: string | null): Timestamp | undefined {
  return time === null ? undefined : timestampFromDate(new Date(time));
}
