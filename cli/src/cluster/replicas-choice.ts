// The flags that choose the replicas of a control plane in a cluster. Pure.
import type { FlagTable, ReadFlags } from "../command-line/read-flags.ts";
import { CLUSTER_FLAGS, CLUSTER_HELP, type ClusterChoice, readClusterChoice } from "./cluster-choice.ts";

/** The namespace and the Service of the control plane unless the command line names others. */
const NAMESPACE = "weir-system";
const SERVICE = "weir-control-plane-headless";

/** Default of CONSOLE_PORT of the control plane. */
export const CONSOLE_PORT = 8092;

/** Default of HTTP_PORT, for versions without CONSOLE_PORT. */
export const HTTP_PORT = 8090;

/** The Service of the replicas, and the port of their rollout API. */
export interface ReplicasChoice extends ClusterChoice {
  readonly namespace: string;
  readonly service: string;
  /**
   * Name of a port of the Service, or number of a port of the pods; undefined: the console port,
   * and where nothing listens there the HTTP port.
   */
  readonly port: string | undefined;
}

/** The flags, for the reader of the command line. */
export const REPLICAS_FLAGS = {
  "from-cluster": { type: "boolean" },
  "control-plane-namespace": { type: "string" },
  "control-plane-service": { type: "string" },
  "control-plane-port": { type: "string" },
  ...CLUSTER_FLAGS,
} as const satisfies FlagTable;

/** The flags in the help of a command. */
export const REPLICAS_HELP = `  --from-cluster
      In place of servers: finds the replicas in the cluster of kubectl, and connects to their pods
      through the API server. The default of kubectl weir. The account must be allowed to list
      EndpointSlices, and to get and create pods/portforward, in the namespace of the control plane.
  --control-plane-namespace NAMESPACE, --control-plane-service NAME, --control-plane-port PORT
      The Service of the replicas in the cluster, and the number or name of the port with their rollout
      API. Default is ${SERVICE} in ${NAMESPACE}, port ${CONSOLE_PORT} (CONSOLE_PORT),
      and of a replica that does not listen there, ${HTTP_PORT} (HTTP_PORT).
${CLUSTER_HELP}`;

/** The choice, and the first of its flags that is given; a text is the problem. */
export function readReplicasChoice(
  flags: ReadFlags,
): { readonly choice: ReplicasChoice; readonly given: string | undefined } | string {
  const withValue = Object.entries(REPLICAS_FLAGS).flatMap(([flag, { type }]) => (type === "string" ? [flag] : []));
  const empty = withValue.find((flag) => flags.last(flag) === "");
  if (empty !== undefined) return `--${empty} must not be empty`;
  const given = flags.has("from-cluster") ? "from-cluster" : withValue.find((flag) => flags.last(flag) !== undefined);
  const cluster = readClusterChoice(flags);
  if (typeof cluster === "string") return cluster;
  const choice = {
    ...cluster,
    namespace: flags.last("control-plane-namespace") ?? NAMESPACE,
    service: flags.last("control-plane-service") ?? SERVICE,
    port: flags.last("control-plane-port"),
  };
  return { choice, given };
}
