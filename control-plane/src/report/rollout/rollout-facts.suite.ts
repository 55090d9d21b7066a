// The facts that reports are made of, for tests: a publisher that has read some files, and pods in
// every state. Only tests import it.
import { inOneGo } from "@weir/limits/model/in-one-go";
import { stateOf, translateResources } from "../../translate/manifests.suite.ts";
import type { ResourceNack } from "../../pods/pod-revisions.ts";
import type { PodState } from "../../pods/pod-registry.ts";
import { admit } from "../../snapshot/admission.ts";
import { type Revision, Revisions } from "../../snapshot/revision.ts";
import { OTHER_FLEETS, publish, UNPUBLISHED } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { type Snapshot, snapshotSteps } from "../../snapshot/snapshot.ts";
import type { SourceState } from "../../source/source.ts";
import { reportRollout } from "./report-rollout.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/** The moment at which everything happens. */
export const AT_MS = Date.UTC(2026, 0, 31, 12);

/** The same as text. */
export const AT = "2026-01-31T12:00:00.000Z";

/** The state in which a publisher begins, and its bounds. */
export interface PublisherText {
  readonly snapshotMaxBytes?: number;
  /** Its state before, with what it published. */
  readonly before?: PublisherState;
}

/** One for all tests of a file: what is made later is newer. */
const REVISIONS = new Revisions();

/** A publisher that has read these files. */
export function publisherOf(files: Readonly<Record<string, string>>, text: PublisherText = {}): PublisherState {
  return publisherOfState(stateOf(files), text);
}

/** A publisher whose source knows this. */
export function publisherOfState(
  read: SourceState,
  { snapshotMaxBytes = 1_000_000, before }: PublisherText = {},
): PublisherState {
  const desired = translateResources(read);
  const applicants = desired.accepted.map((resource) => {
    const served = before?.admission?.admitted.get(resource.key);
    return {
      resource,
      revision: REVISIONS.current(resource),
      served: served?.revision.identity === resource.identity ? served : undefined,
    };
  });
  const bounds = { snapshotMaxBytes, namespaceMaxBytes: undefined };
  const admission = admit(applicants, desired.fleets, bounds);
  const snapshots = inOneGo(snapshotSteps([...admission.admitted.values()], desired.fleets));
  const publication = publish(before?.publication ?? UNPUBLISHED, snapshots, AT_MS, 0);
  const published = [...publication].filter(([, { snapshot }]) => snapshot !== undefined);
  const publishedMs = new Map(published.map(([fleet]) => [fleet, AT_MS]));
  const present = new Map(applicants.map(({ revision }) => [revision.name, revision]));
  return {
    read,
    desired,
    publication,
    publishedMs,
    changedMs: publishedMs,
    admission,
    currentRevision: (name) => present.get(name),
    sourceError: undefined,
  };
}

/** A publisher whose source was not read yet. */
export const UNREAD: PublisherState = {
  read: undefined,
  desired: undefined,
  publication: UNPUBLISHED,
  publishedMs: new Map(),
  changedMs: new Map(),
  admission: undefined,
  currentRevision: () => undefined,
  sourceError: "Cannot read the folder x",
};

/** The active snapshot of a fleet, or of those that no resource names; fails when none is. */
export function snapshotIn(publisher: PublisherState, fleet = OTHER_FLEETS): Snapshot {
  const snapshot = publisher.publication.get(fleet)?.snapshot;
  if (snapshot === undefined) throw new Error("No snapshot is active");
  return snapshot;
}

/** A pod of the fleet gateway that has done nothing but what is reported it. */
export function podOf(difference: Partial<PodState>): PodState {
  return {
    nodeId: "gateway/pod-7",
    fleet: "gateway",
    namespace: "edge",
    pod: "pod-7",
    peer: "192.0.2.1:4711",
    connectedMs: AT_MS,
    sent: undefined,
    lastAnswer: undefined,
    accepted: undefined,
    acked: undefined,
    rejected: undefined,
    nacks: new Map(),
    choice: undefined,
    ...difference,
  };
}

/** A pod that was sent a snapshot and ACKed it. */
export function podThatAcked(snapshot: Snapshot, difference: Partial<PodState> = {}): PodState {
  const event = { version: snapshot.version, atMs: AT_MS };
  const acked = { snapshot, names: undefined };
  return podOf({ sent: event, lastAnswer: "ack", accepted: event, acked, choice: snapshot, ...difference });
}

/** A resource that a pod NACKed, by name, and the revision that it has instead; undefined: none. */
export interface NackText {
  readonly name: string;
  readonly revision: Revision | undefined;
  readonly message?: string;
}

/** A pod that NACKed resources of its fleet's snapshot by name, and ACKed what it was sent then. */
export function podThatNacked(
  snapshot: Snapshot,
  nacked: readonly NackText[],
  difference: Partial<PodState> = {},
): PodState {
  const choice = snapshot.withEarlier(new Map(nacked.map(({ name, revision }) => [name, revision])));
  const nacks = nacked.map(({ name, message = `${name}: no` }): [string, ResourceNack] => [
    name,
    { digests: new Set([snapshot.get(name)?.digest ?? ""]), sinceMs: AT_MS, message },
  ]);
  const rejected = { version: snapshot.version, atMs: AT_MS, message: nacks.at(-1)?.[1].message ?? "" };
  return podThatAcked(choice, { rejected, nacks: new Map(nacks), ...difference });
}

/**
 * A pod that was sent a snapshot and NACKed it without the name of a resource; it continues to serve
 * an earlier one, or nothing.
 */
export function podThatNackedAll(
  snapshot: Snapshot,
  serves: Snapshot | undefined,
  message: string,
  difference: Partial<PodState> = {},
): PodState {
  const event = { version: snapshot.version, atMs: AT_MS };
  const before = serves === undefined ? podOf({}) : podThatAcked(serves);
  const nack = { sent: event, lastAnswer: "nack" as const, rejected: { ...event, message }, choice: snapshot };
  return { ...before, ...nack, ...difference };
}

/** The report of a replica that is ready. */
export function reportOf(
  publisher: PublisherState,
  pods: readonly PodState[] = [],
  filter: RolloutFilter = {},
): RolloutReport {
  const source = { location: "limits", condition: () => ({ syncedMs: AT_MS, problem: undefined }) };
  return reportRollout(
    { replica: "replica-1", instance: "process-1", nowMs: AT_MS, notReady: undefined, source, publisher, pods },
    filter,
  );
}
