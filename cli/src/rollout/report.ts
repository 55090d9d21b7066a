// Prints the merged rollout as a table or JSON. Pure.
import { PodState, ResourceState } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import type { Pod, Resource, VersionEvent } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";
import type { Counts, MergedResource, MergedRollout, ReplicaPod } from "@weir/proto/rollout/merged-rollout";
import { holdText } from "@weir/proto/rollout/rollout-problems";

import { counted, printable } from "../command-line/printable.ts";
import { tableText } from "../command-line/table.ts";

/** Characters of a version that are shown. */
const VERSION_LENGTH = 12;

const POD_STATES: Readonly<Record<PodState, string>> = {
  [PodState.UNSPECIFIED]: "waiting",
  [PodState.ACCEPTED]: "accepted",
  [PodState.REJECTED]: "rejected",
  [PodState.PENDING]: "pending",
};

const RESOURCE_STATES: Readonly<Record<ResourceState, string>> = {
  [ResourceState.UNSPECIFIED]: "unknown",
  [ResourceState.SERVED]: "served",
  [ResourceState.REFUSED]: "refused",
  [ResourceState.QUARANTINED]: "quarantined",
};

/** Tables of fleets, pods and resources, and a summary line. */
export function formatTable(merged: MergedRollout, nowMs: number): string {
  const parts = [fleetTable(merged), podTable(merged.pods, nowMs), resourceTable(merged.resources)];
  if (merged.unreadable.length > 0) {
    parts.push(
      ["UNREADABLE", ...merged.unreadable.map(({ location, message }) => `${location}: ${message}`)]
        .map(printable)
        .join("\n"),
    );
  }
  return `${[...parts.filter((part) => part !== ""), summary(merged)].join("\n\n")}\n`;
}

/** One JSON object; `indent`: over several lines. */
export function formatRolloutJson(merged: MergedRollout, indent: boolean): string {
  const object = {
    ok: merged.problems.length === 0,
    problems: merged.problems,
    replicas: merged.replicas.map(({ server, rollout, error }) => ({
      server,
      replica: rollout?.replica,
      ready: rollout?.ready ?? false,
      source: rollout?.source?.location,
      sourceError: rollout?.source?.error === "" ? undefined : rollout?.source?.error,
      error,
    })),
    fleets: merged.fleets.map(({ holds, ...fleet }) => ({ ...fleet, holds: holds.map(holdText) })),
    pods: merged.pods.map(({ pod, replica }) => ({ ...podObject(pod), replica })),
    resources: merged.resources.map(({ resource, pods }) => ({ ...resourceObject(resource), pods })),
    unreadable: merged.unreadable.map(({ location, message }) => ({ location, message })),
  };
  return `${JSON.stringify(object, undefined, indent ? 2 : undefined)}\n`;
}

/** One line with the problems, or with the numbers when there are none. */
export function summary({ problems, pods, resources }: MergedRollout): string {
  if (problems.length > 0) return printable(`not complete: ${problems.join("; ")}`);
  const served = `${counted(resources.length, "resource")} served`;
  return pods.length === 0
    ? `${served}, no pod is connected`
    : `${served} and ACKed by ${pods.length === 1 ? "the only pod" : `all ${pods.length} pods`}`;
}

/** The state of a pod in one word. */
export function podState(pod: Pod): string {
  return POD_STATES[pod.state] ?? "unknown";
}

/** The state of a resource in one word. */
export function resourceState(resource: Resource): string {
  return RESOURCE_STATES[resource.state] ?? "unknown";
}

/** The beginning of a version; `-` when there is none. */
export function shortVersion(version: string | undefined): string {
  return version === undefined || version === "" ? "-" : version.slice(0, VERSION_LENGTH);
}

function podObject(pod: Pod): object {
  const { pod: name, namespace, nodeId, fleet, peer, rejection } = pod;
  return {
    pod: name,
    namespace,
    nodeId,
    fleet,
    peer,
    state: podState(pod),
    connectedAt: timeText(pod.connectedAt),
    sent: eventObject(pod.sent),
    accepted: eventObject(pod.accepted),
    rejected: eventObject(pod.rejected),
    rejection: rejection === "" ? undefined : rejection,
    warnings: pod.warnings,
  };
}

function resourceObject(resource: Resource): object {
  const { namespace, name, domain, generation, fleets, reason, problems, servesLastGood, location, warnings } =
    resource;
  return {
    namespace,
    name,
    domain,
    generation: Number(generation),
    fleets,
    state: resourceState(resource),
    reason: reason === "" ? undefined : reason,
    problems: problems.map(({ field, message, location: place }) => ({ field, message, location: place })),
    servesLastGood,
    location,
    warnings,
  };
}

function eventObject(event: VersionEvent | undefined): object | undefined {
  return event === undefined ? undefined : { version: event.version, at: timeText(event.at) };
}

function timeText(time: Pod["connectedAt"]): string | undefined {
  return time === undefined
    ? undefined
    : new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)).toISOString();
}

function fleetTable({ fleets }: MergedRollout): string {
  const rows = fleets.map(({ name, versions, resources, pods }) => [
    name,
    versions.map(shortVersion).join(",") || "-",
    String(resources),
    ratio(pods),
    String(pods.rejected),
    String(pods.pending),
  ]);
  return tableText(["FLEET", "VERSION", "RESOURCES", "ACCEPTED", "REJECTED", "PENDING"], rows);
}

function podTable(pods: readonly ReplicaPod[], nowMs: number): string {
  const rows = pods.map(({ pod, replica }) => [
    podName(pod),
    pod.fleet,
    podState(pod),
    shortVersion(pod.accepted?.version),
    shortVersion(pod.sent?.version),
    sinceText(pod, nowMs),
    replica,
  ]);
  const details = pods.map(({ pod }) => [
    ...(pod.state === PodState.REJECTED ? [`rejected ${shortVersion(pod.rejected?.version)}: ${pod.rejection}`] : []),
    ...pod.warnings.map((warning) => `warning: ${warning}`),
  ]);
  return tableText(["POD", "FLEET", "STATE", "ACCEPTED", "SENT", "CONNECTED", "REPLICA"], rows, details);
}

function resourceTable(resources: readonly MergedResource[]): string {
  const rows = resources.map(({ resource, pods }) => [
    resourceName(resource),
    resource.domain === "" ? "-" : resource.domain,
    resourceState(resource),
    ratio(pods),
    resource.reason === "" ? "-" : resource.reason,
  ]);
  return tableText(
    ["RESOURCE", "DOMAIN", "STATE", "PODS", "REASON"],
    rows,
    resources.map(({ resource }) => resourceDetails(resource)),
  );
}

function resourceDetails(resource: Resource): readonly string[] {
  const problems = resource.problems.map(
    ({ field, message, location }) =>
      `${location === "" ? "" : `${location}: `}${field === "" ? "" : `${field}: `}${message}`,
  );
  return [
    ...problems,
    ...(resource.servesLastGood ? ["its last ACKed form is served instead"] : []),
    ...resource.warnings.map((warning) => `warning: ${warning}`),
  ];
}

function ratio({ accepted, total }: Counts): string {
  return `${accepted}/${total}`;
}

function sinceText(pod: Pod, nowMs: number): string {
  if (pod.connectedAt === undefined) return "-";
  const seconds = Math.max(0, Math.floor(nowMs / 1000) - Number(pod.connectedAt.seconds));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
