// Finds the replicas of the control plane through the EndpointSlices of their Service, and connects to
// their pods through the API server.
import type { Duplex } from "node:stream";

import { ServiceError } from "@weir/common/errors/service-error";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import { forwardPort } from "@weir/kubernetes/client/forward-port";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import type { Cluster } from "./open-cluster.ts";
import type { ReplicasChoice } from "./replicas-choice.ts";

const ENDPOINT_SLICES = { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" } as const;

/** Longest wait for a connection to a pod, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A replica of the control plane. */
export interface ClusterReplica {
  /** Namespace and name of its pod. */
  readonly label: string;
  /** For the header `host` only. */
  readonly url: string;
  readonly open: (signal: AbortSignal) => Promise<Duplex>;
}

/**
 * Finds the ready replicas once, which fails with ServiceError when there are none, and returns what
 * finds them again: later failures leave the last ones.
 */
export async function followReplicas(
  cluster: Cluster,
  choice: ReplicasChoice,
  signal: AbortSignal,
): Promise<() => Promise<readonly ClusterReplica[]>> {
  let first: readonly ClusterReplica[] | undefined = await findReplicas(cluster, choice, signal);
  let last = first;
  return async () => {
    // The first call comes right after this one.
    if (first === undefined) last = await findReplicas(cluster, choice, signal).catch(() => last);
    first = undefined;
    return last;
  };
}

async function findReplicas(
  cluster: Cluster,
  choice: ReplicasChoice,
  signal: AbortSignal,
): Promise<readonly ClusterReplica[]> {
  const { namespace, service } = choice;
  const labelSelector = `kubernetes.io/service-name=${service}`;
  const slices = await cluster.list({ ...resourceOf(ENDPOINT_SLICES, namespace), labelSelector }, signal);
  const ports = new Map(slices.flatMap((slice) => podPorts(slice, choice.port)));
  if (ports.size === 0) throw noReplicas(slices, choice);
  return [...ports].toSorted().map(([pod, port]) => ({
    label: `${namespace}/${pod}`,
    url: `http://${pod}.${service}.${namespace}:${port}`,
    open: async (ended) =>
      forwardPort(cluster.access, { namespace, pod, port }, { timeoutMs: CONNECT_TIMEOUT_MS, signal: ended }),
  }));
}

/** The ready pods of a slice with the number of the port. */
function podPorts({ content }: KubernetesObject, wanted: string): readonly (readonly [pod: string, port: number])[] {
  const named = mappingsOf(content["ports"]).find(({ name }) => name === wanted)?.["port"];
  const port = /^\d+$/.test(wanted) ? Number(wanted) : named;
  if (typeof port !== "number") return [];
  return mappingsOf(content["endpoints"]).flatMap((endpoint) => {
    const { kind, name } = fieldsOf(endpoint["targetRef"]);
    const isReady = fieldsOf(endpoint["conditions"])["ready"] !== false;
    const pod = textOf(name);
    return isReady && kind === "Pod" && pod !== undefined ? [[pod, port] as const] : [];
  });
}

function noReplicas(
  slices: readonly KubernetesObject[],
  { namespace, service, port }: ReplicasChoice,
): ServiceError<"SOURCE_UNREADABLE"> {
  const names = slices.flatMap(({ content }) => mappingsOf(content["ports"]).map(({ name }) => textOf(name) ?? ""));
  const known = [...new Set(names)].filter((name) => name !== "");
  const reason =
    slices.length === 0
      ? "it does not exist or has no pods, name it with --control-plane-service and --control-plane-namespace"
      : !/^\d+$/.test(port) && !known.includes(port)
        ? `it has no port ${port}, name one with --control-plane-port (known are: ${known.join(", ")}) or give its number`
        : "none of its pods is ready";
  return new ServiceError(
    "SOURCE_UNREADABLE",
    `Cannot find replicas of the Service ${namespace}/${service}: ${reason}`,
  );
}
