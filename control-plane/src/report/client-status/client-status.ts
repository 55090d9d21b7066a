// Makes the answers of the client status service (CSDS): for each connected pod the resources of
// its fleet and their sync status. Pure.
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Any, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type ClientConfig,
  type ClientConfig_GenericXdsConfig,
  ClientConfig_GenericXdsConfigSchema,
  ClientConfigSchema,
  type ClientStatusRequest,
  type ClientStatusResponse,
  ClientStatusResponseSchema,
  ConfigStatus,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { PodState } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import type { Snapshot, SnapshotResource } from "../../snapshot/snapshot.ts";
import { nodePredicate } from "./node-matcher.ts";
import { ReportError } from "../report-error.ts";

/** Most entries of one answer, one for each pod and resource, and most bytes of resources in it. */
const ENTRIES_MAX = 200_000;
const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** The connected pods, and the active snapshots. */
export interface ClientStatusFacts {
  readonly pods: readonly PodState[];
  readonly snapshotFor: (fleet: string) => Snapshot | undefined;
}

/** Answers a request. CLIENT_STATUS_REFUSED: a matcher is wrong, or the answer too large. */
export function clientStatus(
  { pods, snapshotFor }: ClientStatusFacts,
  request: ClientStatusRequest,
): ClientStatusResponse {
  const isSelected = nodePredicate(request.nodeMatchers);
  const selected = pods
    .filter((pod) => isSelected({ id: pod.nodeId, metadata: metadataOf(pod) }))
    .map((pod) => ({ pod, snapshot: snapshotFor(pod.fleet) }));
  const withBodies = !request.excludeResourceContents;
  refuseTooLarge(
    selected.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot])),
    withBodies,
  );
  const bodies = new Map<SnapshotResource, Any | undefined>();
  const bodyOf = (resource: SnapshotResource): Any | undefined => {
    const known = bodies.get(resource) ?? (withBodies ? decode(resource) : undefined);
    bodies.set(resource, known);
    return known;
  };
  return create(ClientStatusResponseSchema, {
    config: selected.map(({ pod, snapshot }) => configOf(pod, snapshot, bodyOf)),
  });
}

function refuseTooLarge(snapshots: readonly Snapshot[], withBodies: boolean): void {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  const entries = sum(snapshots.map(({ resources }) => resources.length));
  const bytes = withBodies ? sum(snapshots.map(({ sizeBytes }) => sizeBytes)) : 0;
  if (entries <= ENTRIES_MAX && bytes <= BODY_BYTES_MAX) return;
  const size = `${snapshots.length} clients have ${entries} resources of ${bytes} bytes together, at most ${ENTRIES_MAX} and ${BODY_BYTES_MAX} are reported`;
  throw new ReportError(
    "CLIENT_STATUS_REFUSED",
    `Cannot report the status of clients: ${size}; select fewer, or set exclude_resource_contents`,
  );
}

function configOf(
  pod: PodState,
  snapshot: Snapshot | undefined,
  bodyOf: (resource: SnapshotResource) => Any | undefined,
): ClientConfig {
  const sync = snapshot === undefined ? undefined : statusOf(pod, snapshot.version);
  return create(ClientConfigSchema, {
    node: { id: pod.nodeId, metadata: { ...metadataOf(pod) } },
    genericXdsConfigs:
      snapshot === undefined || sync === undefined
        ? []
        : snapshot.resources.map((each) => entryOf(each, sync, bodyOf(each))),
  });
}

/** The sync status of a pod for a version: the protocol answers for all of its resources in one. */
interface ClientSync {
  readonly status: ConfigStatus;
  /** The version that the pod was sent; empty for NOT_SENT. */
  readonly version: string;
  readonly at: Timestamp | undefined;
  /** The text of its NACK. */
  readonly rejection: string | undefined;
}

function statusOf(pod: PodState, version: string): ClientSync {
  const { sent, accepted, rejected } = pod;
  const status = syncStatusOf(pod, version);
  if (status === "rejected" && rejected !== undefined) {
    return { status: ConfigStatus.ERROR, version, at: timestampFromMs(rejected.atMs), rejection: rejected.message };
  }
  if (status === "current" && accepted !== undefined) {
    return { status: ConfigStatus.SYNCED, version, at: timestampFromMs(accepted.atMs), rejection: undefined };
  }
  if (sent?.version === version)
    return { status: ConfigStatus.STALE, version, at: timestampFromMs(sent.atMs), rejection: undefined };
  return { status: ConfigStatus.NOT_SENT, version: "", at: undefined, rejection: undefined };
}

function entryOf(
  { name }: SnapshotResource,
  { status, version, at, rejection }: ClientSync,
  body: Any | undefined,
): ClientConfig_GenericXdsConfig {
  const updated = at === undefined ? {} : { lastUpdated: at };
  const config = body === undefined ? {} : { xdsConfig: body };
  const entry = {
    typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
    name,
    versionInfo: version,
    configStatus: status,
    ...updated,
    ...config,
  };
  if (rejection === undefined) return create(ClientConfig_GenericXdsConfigSchema, entry);
  const failure = {
    details: rejection,
    versionInfo: version,
    ...(at === undefined ? {} : { lastUpdateAttempt: at }),
    ...(body === undefined ? {} : { failedConfiguration: body }),
  };
  return create(ClientConfig_GenericXdsConfigSchema, { ...entry, errorState: failure });
}

/** The metadata that is kept of a node; with `fleet` also when it comes from the node id. */
function metadataOf({ fleet, namespace, pod }: PodState): Readonly<Record<string, string>> {
  return { fleet, ...(namespace === "" ? {} : { namespace }), ...(pod === "" ? {} : { pod }) };
}

/** The bytes of a resource are a field of a response. */
function decode({ bytes }: SnapshotResource): Any | undefined {
  return fromBinary(DiscoveryResponseSchema, bytes).resources[0];
}
