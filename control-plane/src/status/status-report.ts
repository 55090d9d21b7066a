// The whole state of this replica as plain data: what JSON clients get and what the page shows. Pure.
import { resourceKey } from "../source/source.ts";
import type { PodState, VersionEvent } from "../rollout/pod-registry.ts";
import { fleetName } from "../snapshot/publication-log.ts";
import { publicationFor } from "../snapshot/publication.ts";
import type { FleetPublication } from "../snapshot/publication.ts";
import type { PublisherState } from "../snapshot/publisher.ts";

/** What one fleet is sent. */
export interface FleetReport {
  /** `*` stands for every fleet that no resource names. */
  readonly fleet: string;
  /** null: nothing yet. */
  readonly version: string | null;
  readonly resources: number;
  readonly bytes: number;
  readonly publishedAt: string | null;
  /** Why newer content is kept back: `empty` or `too-large`; null when it is not. */
  readonly heldBack: "empty" | "too-large" | null;
  /** How many pods are connected. */
  readonly pods: number;
  /** How many of them are in each state. */
  readonly podStates: Readonly<Record<PodReportEntry["state"], number>>;
}

/** A resource that is served. */
export interface ResourceReport {
  readonly resource: string;
  readonly domain: string;
  /** null: every fleet. */
  readonly fleets: readonly string[] | null;
  /** `last-good`: an earlier form is served, because the present one is refused. */
  readonly state: "served" | "last-good";
  readonly file: string;
  readonly line: number;
}

/** Something that is not served as it is written. */
export interface RefusalReport {
  readonly reason: string;
  /** null: not even the name could be read. */
  readonly resource: string | null;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Empty: the whole document or file. */
  readonly field: string;
  readonly message: string;
  readonly keepsLastGood: boolean;
}

/** A version and when. */
export interface VersionReport {
  readonly version: string;
  readonly at: string;
}

/** A connected pod. */
export interface PodReportEntry {
  readonly node: string;
  readonly pod: string;
  readonly namespace: string;
  readonly fleet: string;
  readonly peer: string;
  readonly connectedAt: string;
  /** `current`: has accepted what is in force; `rejected`: has rejected it; `pending`: has not answered; `waiting`: nothing is in force yet. */
  readonly state: "current" | "rejected" | "pending" | "waiting";
  readonly sent: VersionReport | null;
  readonly accepted: VersionReport | null;
  readonly rejected: (VersionReport & { readonly message: string }) | null;
}

/** Everything. */
export interface StatusReport {
  readonly replica: string;
  readonly ready: boolean;
  readonly source: { readonly location: string; readonly error: string | null };
  readonly fleets: readonly FleetReport[];
  readonly resources: readonly ResourceReport[];
  readonly refusals: readonly RefusalReport[];
  readonly pods: readonly PodReportEntry[];
}

/** What a report is made of. */
export interface StatusFacts {
  readonly replica: string;
  readonly isReady: boolean;
  readonly sourceLocation: string;
  readonly publisher: PublisherState;
  readonly pods: readonly PodState[];
}

/** Makes the report. */
export function reportStatus({ replica, isReady, sourceLocation, publisher, pods }: StatusFacts): StatusReport {
  const accepted = publisher.assembly?.accepted ?? [];
  return {
    replica,
    ready: isReady,
    source: { location: sourceLocation, error: publisher.sourceError ?? null },
    fleets: [...publisher.publication].map(([fleet, published]) => reportFleet(fleet, published, publisher, pods)),
    resources: accepted.map((resource) => ({
      resource: resourceKey(resource),
      domain: resource.domain,
      fleets: resource.fleets ?? null,
      state: resource.isLastGood ? "last-good" : "served",
      file: resource.place.file,
      line: resource.place.line,
    })),
    refusals: [
      ...(publisher.assembly?.refusals ?? []).map(({ place, resource, reason, field, message, keepsLastGood }) => ({
        reason,
        resource: resource ?? null,
        ...place,
        field,
        message,
        keepsLastGood,
      })),
      ...reportTooLarge(publisher),
    ],
    pods: pods.map((pod) => reportPod(pod, publicationFor(publisher.publication, pod.fleet))),
  };
}

function reportFleet(
  fleet: string,
  { snapshot, hold }: FleetPublication,
  publisher: PublisherState,
  pods: readonly PodState[],
): FleetReport {
  const members = pods.filter((pod) => publicationFor(publisher.publication, pod.fleet) === publisher.publication.get(fleet));
  const publishedMs = publisher.publishedMs.get(fleet);
  return {
    fleet: fleetName(fleet),
    version: snapshot?.version ?? null,
    resources: snapshot?.resources.length ?? 0,
    bytes: snapshot?.body.length ?? 0,
    publishedAt: publishedMs === undefined ? null : formatTime(publishedMs),
    heldBack: hold?.kind ?? null,
    pods: members.length,
    podStates: countStates(members.map((pod) => stateOf(pod, snapshot?.version))),
  };
}

function countStates(states: readonly PodReportEntry["state"][]): FleetReport["podStates"] {
  const count = (state: PodReportEntry["state"]): number => states.filter((candidate) => candidate === state).length;
  return { current: count("current"), rejected: count("rejected"), pending: count("pending"), waiting: count("waiting") };
}

/** The resources that make a snapshot too large, each once for every fleet that this holds back. */
function reportTooLarge({ assembly, publication }: PublisherState): readonly RefusalReport[] {
  return [...publication].flatMap(([fleet, { hold }]) => {
    if (hold?.kind !== "too-large") return [];
    const offenders = assembly?.accepted.filter((resource) => hold.resources.includes(resource.key)) ?? [];
    return offenders.map(({ key, place }) => ({
      reason: "TooLarge",
      resource: key,
      ...place,
      field: "spec",
      message: `with it the configuration of fleet ${fleetName(fleet)} has ${hold.sizeBytes} bytes, more than SNAPSHOT_MAX_BYTES; what was in force before stays`,
      keepsLastGood: true,
    }));
  });
}

function reportPod(pod: PodState, published: FleetPublication | undefined): PodReportEntry {
  const { nodeId, pod: name, namespace, fleet, peer, connectedMs, sent, accepted, rejected } = pod;
  return {
    node: nodeId,
    pod: name,
    namespace,
    fleet,
    peer,
    connectedAt: formatTime(connectedMs),
    state: stateOf(pod, published?.snapshot?.version),
    sent: sent === undefined ? null : reportVersion(sent),
    accepted: accepted === undefined ? null : reportVersion(accepted),
    rejected: rejected === undefined ? null : { ...reportVersion(rejected), message: rejected.message },
  };
}

function stateOf({ accepted, rejected }: PodState, version: string | undefined): PodReportEntry["state"] {
  if (version === undefined) return "waiting";
  if (rejected?.version === version) return "rejected";
  return accepted?.version === version ? "current" : "pending";
}

function reportVersion({ version, atMs }: VersionEvent): VersionReport {
  return { version, at: formatTime(atMs) };
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}
