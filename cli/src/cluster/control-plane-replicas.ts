// Finds the replicas of the control plane through the EndpointSlices of their Service, and connects to
// their pods through the API server.
import type { Duplex } from "node:stream";

import { ServiceError } from "@weir/common/errors/service-error";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import { forwardPort } from "@weir/kubernetes/client/forward-port";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import type { Cluster } from "./open-cluster.ts";
import { HTTP_PORT, CONSOLE_PORT, type ReplicasChoice } from "./replicas-choice.ts";

const ENDPOINT_SLICES = { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" } as const;

/** Longest wait for a connection to a pod, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A port of a replica of the control plane. */
interface ReplicaPort {
  /** Namespace and name of its pod. */
  readonly label: string;
  /** For the header `host` only. */
  readonly url: string;
  readonly open: (signal: AbortSignal) => Promise<Duplex>;
}

/** A replica of the control plane. */
export interface ClusterReplica extends ReplicaPort {
  /** The port to ask where nothing listens on the first one, and what to say then. */
  readonly fallback?: ReplicaPort & { readonly notice: string };
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
  const pods = new Map(slices.flatMap((slice) => readyPods(slice, choice.port)));
  if (pods.size === 0) throw noReplicas(slices, choice);
  return [...pods]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([pod, { port, fallback }]) => {
      const label = `${namespace}/${pod}`;
      const at = (number: number): ReplicaPort => ({
        label,
        url: `http://localhost:${number}`,
        open: async (ended) =>
          await forwardPort(
            cluster.access,
            { namespace, pod, port: number },
            { timeoutMs: CONNECT_TIMEOUT_MS, signal: ended },
          ),
      });
      if (fallback === undefined) return at(port);
      const notice = `${label} does not listen on port ${port} (CONSOLE_PORT), as earlier versions do not: asked its port ${fallback} (HTTP_PORT)`;
      return { ...at(port), fallback: { ...at(fallback), notice } };
    });
}

interface PodPorts {
  readonly port: number;
  readonly fallback?: number;
}

/** The ready pods of a slice with their ports; none when it does not have the wanted port. */
function readyPods(
  { content }: KubernetesObject,
  wanted: string | undefined,
): readonly (readonly [pod: string, ports: PodPorts])[] {
  const ports = portsOf(content, wanted);
  if (ports === undefined) return [];
  return mappingsOf(content["endpoints"]).flatMap((endpoint) => {
    const { kind, name } = fieldsOf(endpoint["targetRef"]);
    const isReady = fieldsOf(endpoint["conditions"])["ready"] !== false;
    const pod = textOf(name);
    return isReady && kind === "Pod" && pod !== undefined ? [[pod, ports] as const] : [];
  });
}

function portsOf(slice: KubernetesObject["content"], wanted: string | undefined): PodPorts | undefined {
  const named = mappingsOf(slice["ports"]).find(({ name }) => name === (wanted ?? "http"))?.["port"];
  const number = typeof named === "number" ? named : undefined;
  if (wanted === undefined) return { port: CONSOLE_PORT, fallback: number ?? HTTP_PORT };
  const port = /^\d+$/.test(wanted) ? Number(wanted) : number;
  return port === undefined ? undefined : { port };
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
      : port !== undefined && !/^\d+$/.test(port) && !known.includes(port)
        ? `it has no port ${port}, name one with --control-plane-port (known are: ${known.join(", ")}) or give its number`
        : "none of its pods is ready";
  return new ServiceError(
    "SOURCE_UNREADABLE",
    `Cannot find replicas of the Service ${namespace}/${service}: ${reason}`,
  );
}
