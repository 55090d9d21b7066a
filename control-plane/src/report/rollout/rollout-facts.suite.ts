// What reports are made of, for tests: a publisher that has read some files, and pods in every
// state. Only tests import it.
import { translateResources } from "../../assemble/translate-resources.ts";
import { stateOf } from "../../assemble/manifests.suite.ts";
import type { PodState } from "../../pods/pod-registry.ts";
import { OTHER_FLEETS, publish, UNPUBLISHED } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { NO_NACKS } from "../../snapshot/nacks.ts";
import { buildSnapshots, type Snapshot } from "../../snapshot/snapshot.ts";
import type { SourceState } from "../../source/source.ts";
import { reportRollout } from "./report-rollout.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/** The moment at which everything happens. */
export const AT_MS = Date.UTC(2026, 0, 31, 12);

/** The same as text. */
export const AT = "2026-01-31T12:00:00.000Z";

/** Where a publisher begins, and its bound. */
export interface PublisherText {
  readonly snapshotMaxBytes?: number;
  /** What it published before. */
  readonly before?: PublisherState;
}

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
  const wanted = buildSnapshots(desired);
  const publication = publish(before?.publication ?? UNPUBLISHED, wanted, AT_MS, {
    snapshotMaxBytes,
    allowEmptyAfterMs: 0,
  });
  const published = [...publication].filter(([, { snapshot }]) => snapshot !== undefined);
  const publishedMs = new Map(published.map(([fleet]) => [fleet, AT_MS]));
  return {
    read,
    desired,
    publication,
    publishedMs,
    changedMs: publishedMs,
    wanted,
    nacks: NO_NACKS,
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
  wanted: undefined,
  nacks: NO_NACKS,
  sourceError: "Cannot read the folder x",
};

/** What is active for fleets that no resource names; fails when nothing is. */
export function snapshotIn(publisher: PublisherState): Snapshot {
  const snapshot = publisher.publication.get(OTHER_FLEETS)?.snapshot;
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
    isAnswered: true,
    accepted: undefined,
    rejected: undefined,
    ...difference,
  };
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
