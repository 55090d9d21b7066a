// A whole cluster in which Weir is installed: a real API server with its controllers, and nodes that run every pod.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type KubernetesCluster, startKubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";

import { ROOT } from "../programs.ts";
import { reserveAddressBlock } from "./address-block.ts";
import { type NodeAgent, startNodeAgent } from "./node-agent.ts";

/** Namespace of the release. */
export const SYSTEM_NAMESPACE = "weir-system";

/** Roles for another choice of namespaces than all. */
const OTHER_SCOPES = new Set(["role-binding.yaml", "namespace-reader.yaml"]);

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

  /** Installs the operator and the control plane, two replicas each; they are not awaited. */
  async install(): Promise<void> {
    const files = ["crds/crds", "operator/rbac", "control-plane/rbac"].flatMap((folder) =>
      readdirSync(join(ROOT, folder))
        .filter((name) => !OTHER_SCOPES.has(name))
        .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
    );
    await this.cluster.apply(
      [
        `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${SYSTEM_NAMESPACE}}\n`,
        ...files,
        readFileSync(join(ROOT, "examples/operator/operator.yaml"), "utf8"),
        readFileSync(join(import.meta.dirname, "manifests/control-plane.yaml"), "utf8"),
      ].join("\n---\n"),
    );
  }
}
