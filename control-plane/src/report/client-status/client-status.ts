// Makes the answers of the client status service (CSDS): for each connected pod the resources of
// its fleet and their sync status. Pure.
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type ClientConfig_GenericXdsConfigSchema,
  type ClientStatusRequest,
  type ClientStatusResponse,
  ClientStatusResponseSchema,
  ConfigStatus,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import type { PodState, VersionEvent } from "../../pods/pod-registry.ts";
import { formIn } from "../../pods/pod-forms.ts";
import { deviationOf } from "../../pods/sync-status.ts";
import type { Form } from "../../snapshot/form.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
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
  const bodies = new Map<Form, Any | undefined>();
  const bodyOf = (form: Form): Any | undefined => (withBodies ? bodies.getOrInsertComputed(form, decode) : undefined);
  return create(ClientStatusResponseSchema, {
    config: selected.map(({ pod, snapshot }) => ({
      node: { id: pod.nodeId, metadata: { ...metadataOf(pod) } },
      genericXdsConfigs: (snapshot?.forms ?? []).map((form) =>
        entryOf({ pod, form, version: snapshot?.version ?? "", body: bodyOf(form) }),
      ),
    })),
  });
}

function refuseTooLarge(snapshots: readonly Snapshot[], withBodies: boolean): void {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  const entries = sum(snapshots.map(({ forms }) => forms.length));
  const bytes = withBodies ? sum(snapshots.map(({ sizeBytes }) => sizeBytes)) : 0;
  if (entries <= ENTRIES_MAX && bytes <= BODY_BYTES_MAX) return;
  const size = `${snapshots.length} clients have ${entries} resources of ${bytes} bytes together, at most ${ENTRIES_MAX} and ${BODY_BYTES_MAX} are reported`;
  throw new ReportError(
    "CLIENT_STATUS_REFUSED",
    `Cannot report the status of clients: ${size}; select fewer, or set exclude_resource_contents`,
  );
}

interface EntryFacts {
  readonly pod: PodState;
  readonly form: Form;
  /** The active version. */
  readonly version: string;
  readonly body: Any | undefined;
}

function entryOf({
  pod,
  form,
  version,
  body,
}: EntryFacts): MessageInitShape<typeof ClientConfig_GenericXdsConfigSchema> {
  const { name, digest } = form;
  const { sent, accepted, choice, rejected } = pod;
  const entry = { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, name, xdsConfig: body };
  const statusAt = (configStatus: ConfigStatus, { atMs }: VersionEvent) => ({
    ...entry,
    configStatus,
    versionInfo: version,
    lastUpdated: timestampFromMs(atMs),
  });
  const details = deviationOf(pod, form)?.message;
  if (details !== undefined && rejected !== undefined) {
    const lastUpdateAttempt = timestampFromMs(rejected.atMs);
    const errorState = { details, versionInfo: version, lastUpdateAttempt, failedConfiguration: body };
    return { ...statusAt(ConfigStatus.ERROR, rejected), errorState };
  }
  if (accepted !== undefined && formIn(pod.acked, name)?.digest === digest)
    return statusAt(ConfigStatus.SYNCED, accepted);
  if (sent?.version === (choice?.version ?? version)) return statusAt(ConfigStatus.STALE, sent);
  return { ...entry, configStatus: ConfigStatus.NOT_SENT };
}

/** The metadata that is kept of a node; with `fleet` also when it comes from the node id. */
function metadataOf({ fleet, namespace, pod }: PodState): Readonly<Record<string, string>> {
  return { fleet, ...(namespace === "" ? {} : { namespace }), ...(pod === "" ? {} : { pod }) };
}

/** The bytes of a resource are a field of a response. */
function decode({ bytes }: Form): Any | undefined {
  return fromBinary(DiscoveryResponseSchema, bytes).resources[0];
}
