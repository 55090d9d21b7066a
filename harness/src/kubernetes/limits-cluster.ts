// A Kubernetes API server with the CustomResourceDefinition, the role and the account of the control plane.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterOptions, type KubernetesCluster, startKubernetesCluster } from "./kubernetes-cluster.ts";
import { ROOT } from "../processes/programs.ts";

/** Namespace of resources without another one. */
const NAMESPACE = "shop";

/** Starts the servers and installs what the control plane needs. */
export async function startLimitsCluster(options: ClusterOptions = {}): Promise<LimitsCluster> {
  const cluster = await startKubernetesCluster(options);
  try {
    await cluster.createNamespaces("weir-system", NAMESPACE);
    await cluster.installKinds("ratelimitconfigs");
    for (const name of ["service-account", "cluster-role", "cluster-role-binding"]) {
      await cluster.apply(readFileSync(join(ROOT, "control-plane/rbac", `${name}.yaml`), "utf8"));
    }
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return new LimitsCluster(cluster);
}

/** A cluster with resources. */
export class LimitsCluster {
  readonly cluster: KubernetesCluster;

  constructor(cluster: KubernetesCluster) {
    this.cluster = cluster;
  }

  /**
   * Writes a kubeconfig of the control plane's account, or another one, for the API server or for a
   * proxy of it at another port of this machine.
   */
  async writeKubeconfig(
    path: string,
    apiServerPort = Number(new URL(this.cluster.url).port),
    account = "weir-control-plane",
  ): Promise<void> {
    const token = await this.cluster.tokenOf(account, "weir-system");
    const text = this.cluster.kubeconfig({ server: `https://127.0.0.1:${apiServerPort}` }, token);
    writeFileSync(path, text, { mode: 0o600 });
  }

  /** Applies one manifest under its name; throws with the server's message when that is invalid. */
  async apply(name: string, manifest: string, namespace = NAMESPACE): Promise<void> {
    await this.cluster.applyConfig(`${namespace}/${name}`, manifest);
  }

  /** Applies manifests with kubectl, as users do. */
  async kubectlApply(manifests: string): Promise<void> {
    await this.cluster.run(["apply", `--namespace=${NAMESPACE}`, "-f", "-"], manifests);
  }

  /** Deletes one resource if it exists. */
  async delete(name: string): Promise<void> {
    await this.cluster.deleteConfig(`${NAMESPACE}/${name}`);
  }

  /** Stops the servers. */
  async stop(): Promise<void> {
    await this.cluster.stop();
  }
}
