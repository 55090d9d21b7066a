// A whole cluster in which Weir is installed: a real API server with its controllers, and nodes that run every pod.
import { join } from "node:path";

import { CHARTS, helm } from "../helm/helm.ts";
import { type KubernetesCluster, startKubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";

import { reserveAddressBlock } from "./address-block.ts";
import { type NodeAgent, startNodeAgent } from "./node-agent.ts";

/** Namespace of the release. */
export const SYSTEM_NAMESPACE = "weir-system";

/** Starts a cluster with nodes and nothing installed. */
export async function startPodCluster(): Promise<PodCluster> {
  const block = await reserveAddressBlock();
  const cluster = await startKubernetesCluster({
    full: true,
    hasKwok: false,
    apiServerFlags: [`--service-cluster-ip-range=${block.serviceRange}`],
  });
  return new PodCluster(cluster, await startNodeAgent(cluster, block));
}

/** A cluster whose pods run. */
export class PodCluster {
  readonly cluster: KubernetesCluster;
  readonly nodes: NodeAgent;

  constructor(cluster: KubernetesCluster, nodes: NodeAgent) {
    this.cluster = cluster;
    this.nodes = nodes;
  }

  /** Runs kubectl as the user who may do everything; fails with what it said. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  /** Ends all pods and servers. */
  async stop(): Promise<void> {
    await this.nodes.stop();
    await this.cluster.stop();
  }

  /** Installs the charts of this repository with the values that they come with; nothing is awaited. */
  async install(): Promise<void> {
    await this.helm("install", "weir-crds", join(CHARTS, "weir-crds"), "--create-namespace");
    await this.helm("install", "weir", join(CHARTS, "weir"));
  }

  /** Runs helm in the namespace of the release; returns its output. */
  async helm(...args: readonly string[]): Promise<string> {
    const own = ["--kubeconfig", this.cluster.kubeconfigPath, "--namespace", SYSTEM_NAMESPACE];
    // Its caches, and those of the API, are in the folder of the cluster.
    const homes = ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"];
    const env = Object.fromEntries(homes.map((name) => [name, this.cluster.folder]));
    const { code, stdout, stderr } = await helm([...args, ...own], "", env);
    if (code !== 0) throw new Error(`helm ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }
}
