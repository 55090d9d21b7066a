// The Lease of the election as an object of the API (coordination.k8s.io/v1): how it is read and
// written.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, textOf } from "@weir/kubernetes/mapping";

export const LEASES: ApiKind = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

/** Which Lease, and the times of the election. */
export interface LeaseSettings {
  readonly name: string;
  /** How long others wait after a renewal that they have seen, in milliseconds; whole seconds. */
  readonly durationMs: number;
  /** How long after the start of its last renewal a leader works, in milliseconds; less than the duration. */
  readonly renewDeadlineMs: number;
  /** Time between two attempts, in milliseconds. */
  readonly retryPeriodMs: number;
}

/** The content of a Lease. */
export interface LeaseRecord {
  /** Empty when it was released. */
  readonly holder: string;
  /** How long the holder has it after a renewal, in milliseconds; undefined when it is not said. */
  readonly durationMs: number | undefined;
  /** When the holder became it, by the clock of the holder; for people only. */
  readonly acquireTime: string | undefined;
  /** How often the holder has changed. */
  readonly transitions: number;
}

/** Reads a Lease; what is missing or of a wrong type is as in a Lease without a holder. */
export function readLease(object: KubernetesObject): LeaseRecord {
  const spec = fieldsOf(object.content["spec"]);
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  return {
    holder: textOf(spec["holderIdentity"]) ?? "",
    durationMs: typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined,
    acquireTime: textOf(spec["acquireTime"]),
    transitions: typeof transitions === "number" ? transitions : 0,
  };
}

/** The Lease after `holder` has renewed, taken or (with an empty name) released it at `nowMs`. */
export function leaseObject(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  before: KubernetesObject | undefined,
  next: { readonly holder: string; readonly durationMs: number; readonly nowMs: number },
): WrittenObject {
  const time = microTime(next.nowMs);
  const record = before === undefined ? undefined : readLease(before);
  const isNewHolder = record?.holder !== next.holder;
  const isCounted = isNewHolder && record !== undefined && next.holder !== "";
  return {
    apiVersion: `${LEASES.group}/${LEASES.version}`,
    kind: "Lease",
    // With the version that was read: the write replaces that one only. Labels of others stay.
    metadata: { ...fieldsOf(before?.content["metadata"]), namespace, name },
    spec: {
      ...fieldsOf(before?.content["spec"]),
      holderIdentity: next.holder,
      leaseDurationSeconds: next.durationMs / 1000,
      acquireTime: isNewHolder ? time : (record.acquireTime ?? time),
      renewTime: time,
      leaseTransitions: (record?.transitions ?? 0) + (isCounted ? 1 : 0),
    },
  };
}

/** The time as the API writes it in a Lease, with exactly six digits after the second. */
function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
