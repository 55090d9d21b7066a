// Reads the settings of a program that works with a cluster: where the API server is, and which
// namespaces matter.
import { delimiter } from "node:path";

import type { EnvReader } from "@weir/common/settings/read-env";

import type { ClusterConnection } from "./cluster-access.ts";

/** A valid name of a namespace in Kubernetes. */
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Most namespaces by name: each takes a connection to the API server. */
const WATCH_NAMESPACES_MAX = 100;

/**
 * The API server, found as kubectl finds it. `condition` begins the effect of KUBECONFIG, such as
 * "With SOURCE=kubernetes: ".
 */
export function readConnection(
  read: EnvReader,
  { condition = "" }: { readonly condition?: string } = {},
): ClusterConnection {
  const files = condition === "" ? "Kubeconfig files" : `${condition}kubeconfig files`;
  const kubeconfig = read.optionalString("KUBECONFIG", {
    effect: `${files}, separated by colons. Not set: the service account of the pod, and outside of a cluster the file ~/.kube/config.`,
  });
  const host = read.optionalString("KUBERNETES_SERVICE_HOST", {
    effect: "Address of the API server inside a cluster; Kubernetes sets it.",
  });
  const port = read.port("KUBERNETES_SERVICE_PORT", {
    default: 443,
    effect: "Port of the API server inside a cluster; Kubernetes sets it.",
  });
  if (kubeconfig !== undefined)
    return { kind: "kubeconfig", paths: kubeconfig.split(delimiter).filter((path) => path !== "") };
  return host === undefined ? { kind: "kubeconfig", paths: [] } : { kind: "in-cluster", host, port };
}

/** Notes a problem with each name in a setting that is no name of a namespace, and with too many names. */
export function checkNamespaceNames(read: EnvReader, { setting, names, alternative }: NamespaceNames): void {
  const allowed = "names of namespaces, such as team-a,team-b";
  for (const name of names) if (!NAMESPACE_NAME.test(name)) read.problem(setting, name, allowed);
  if (names.length > WATCH_NAMESPACES_MAX)
    read.problem(setting, `${names.length} names`, `at most ${WATCH_NAMESPACES_MAX} names; ${alternative}`);
}

/** The names in a setting; `alternative` is what to do instead of naming more than allowed. */
export interface NamespaceNames {
  readonly setting: string;
  readonly names: readonly string[];
  readonly alternative: string;
}
