// Reads the addresses of the control plane's replicas from EndpointSlices. Pure.
import { formatAddress } from "@weir/common/net/listen";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";

export const ENDPOINT_SLICES: ApiKind = { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" };

/** Label of a slice with the name of its Service. */
const SERVICE_LABEL = "kubernetes.io/service-name";

export interface ReplicaEndpoint {
  /** The same as long as the replica is: UID of its pod, or its address. */
  readonly id: string;
  /** Name of its pod, or its address. */
  readonly name: string;
  /** Address and port, such as `10.0.0.1:8081` or `[fd00::1]:8081`. */
  readonly address: string;
  /** True if it serves; a replica that does not may still have pods, but need not answer. */
  readonly isReady: boolean;
}

/** Names the endpoints. */
export interface EndpointOptions {
  readonly service: string;
  /** Name of the port in the Service. */
  readonly portName: string;
}

/**
 * The replicas in slices of one namespace, except those that are terminating. A replica with addresses of
 * both families is in two slices, and counts once.
 */
export function replicaEndpoints(
  slices: readonly KubernetesObject[],
  { service, portName }: EndpointOptions,
): ReadonlyMap<string, ReplicaEndpoint> {
  const replicas = new Map<string, ReplicaEndpoint>();
  for (const { content } of slices.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const slice = content as unknown as EndpointSlice;
    if (slice.metadata.labels?.[SERVICE_LABEL] !== service) continue;
    const port = slice.ports?.find(({ name }) => name === portName)?.port;
    if (typeof port !== "number") continue;
    for (const { addresses, conditions, targetRef } of slice.endpoints ?? []) {
      const [address] = addresses ?? [];
      if (address === undefined || conditions?.terminating === true) continue;
      const id = targetRef?.uid ?? targetRef?.name ?? address;
      if (replicas.has(id)) continue;
      replicas.set(id, {
        id,
        name: targetRef?.name ?? address,
        address: formatAddress({ host: address, port }),
        // Absent means that it is not known, which counts as ready (documented in the API).
        isReady: conditions?.ready !== false,
      });
    }
  }
  return replicas;
}

/** An EndpointSlice, as far as it is read; the API server has checked it. */
interface EndpointSlice {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean; readonly terminating?: boolean };
        readonly targetRef?: { readonly name?: string; readonly uid?: string };
      }[]
    | null;
}
