// The flags that choose a cluster, and where its API server is found, as kubectl finds it. Pure.
import { delimiter } from "node:path";

import type { Env } from "@weir/common/settings/read-env";
import type { ClusterConnection } from "@weir/kubernetes/access/cluster-access";

import type { FlagTable, ReadFlags } from "../command-line/read-flags.ts";

/** Port of the API server inside a cluster, when the environment names none. */
const API_SERVER_PORT = 443;

/** The cluster that the command line names; nothing is the one of kubectl. */
export interface ClusterChoice {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** The flags, for the reader of the command line. */
export const CLUSTER_FLAGS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
} as const satisfies FlagTable;

/** The flags in the help of a command. */
export const CLUSTER_HELP = `  --kubeconfig FILE
      The kubeconfig, default is the files of KUBECONFIG or ~/.kube/config; in a pod, its service account.
  --context NAME
      The context in it, default is the current one.
`;

/** The choice in the flags; a text is the problem. */
export function readClusterChoice(flags: ReadFlags): ClusterChoice | string {
  // An empty text comes from an unset variable: it does not mean the default.
  for (const flag of Object.keys(CLUSTER_FLAGS)) if (flags.last(flag) === "") return `--${flag} must not be empty`;
  return { kubeconfig: flags.last("kubeconfig"), context: flags.last("context") };
}

/** The connection to the API server of the choice. */
export function connectionOf({ kubeconfig, context }: ClusterChoice, env: Env): ClusterConnection {
  const listed = env["KUBECONFIG"]?.split(delimiter).filter((path) => path !== "") ?? [];
  const paths = kubeconfig === undefined ? listed : [kubeconfig];
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  if (paths.length > 0 || context !== undefined || host === "") return { kind: "kubeconfig", paths, context };
  return { kind: "in-cluster", host, port: Number(env["KUBERNETES_SERVICE_PORT"] ?? API_SERVER_PORT) };
}
