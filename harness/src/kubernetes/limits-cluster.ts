// A Kubernetes API server with the CustomResourceDefinition, the role and the account of the control
// plane. Writes go to the API over kept connections, because kubectl cannot do hundreds a second.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { kubeconfigText } from "./cluster-files.ts";
import { type ClusterOptions, type KubernetesCluster, startKubernetesCluster } from "./kubernetes-cluster.ts";
import { ROOT } from "../processes/programs.ts";

/** Namespace of every resource. */
const NAMESPACE = "shop";

/** Writes that are under way at most. */
const WRITES_MAX = 16;

/** Starts the servers and installs what the control plane needs. */
export async function startLimitsCluster(options: ClusterOptions = {}): Promise<LimitsCluster> {
  const cluster = await startKubernetesCluster(options);
  try {
    const namespaces = ["weir-system", NAMESPACE];
    await cluster.apply(
      namespaces.map((name) => `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`).join("---\n"),
    );
    await cluster.apply(readFileSync(join(ROOT, "crds/crds/ratelimitconfigs.yaml"), "utf8"));
    const crd = "crd/ratelimitconfigs.ratelimit.weir.dev";
    await kubectl(cluster, ["wait", "--for=condition=Established", "--timeout=120s", crd]);
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
  readonly #agent: Agent;

  constructor(cluster: KubernetesCluster) {
    this.cluster = cluster;
    this.#agent = new Agent({ keepAlive: true, maxSockets: WRITES_MAX, ca: cluster.caPem });
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
    const token = await kubectl(this.cluster, ["create", "token", account, "--namespace=weir-system"]);
    const server = `https://127.0.0.1:${apiServerPort}`;
    writeFileSync(path, kubeconfigText(server, this.cluster.caPem, token.trim()), { mode: 0o600 });
  }

  /** Applies one manifest under its name; throws with the server's message when that is invalid. */
  async apply(name: string, manifest: string): Promise<void> {
    const answer = await this.#send("PATCH", `${resourcePath(name)}?fieldManager=test&force=true`, manifest);
    if (answer.status >= 300) throw new Error(`The API server rejected it: ${answer.text}`);
  }

  /** Applies manifests with kubectl, as users do. */
  async kubectlApply(manifests: string): Promise<void> {
    await kubectl(this.cluster, ["apply", `--namespace=${NAMESPACE}`, "-f", "-"], manifests);
  }

  /** Deletes one resource if it exists. */
  async delete(name: string): Promise<void> {
    const answer = await this.#send("DELETE", resourcePath(name));
    if (answer.status >= 300 && answer.status !== 404) throw new Error(`The API server rejected it: ${answer.text}`);
  }

  /** Stops the servers. */
  async stop(): Promise<void> {
    await this.cluster.stop();
    this.#agent.destroy();
  }

  async #send(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const headers = {
      authorization: `Bearer ${this.cluster.adminToken}`,
      "content-type": "application/apply-patch+yaml",
    };
    const call = request(this.cluster.url + path, { method, headers, agent: this.#agent }).end(body);
    const [response] = (await once(call, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await text(response) };
  }
}

async function kubectl(cluster: KubernetesCluster, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
  return stdout;
}

function resourcePath(name: string): string {
  return `/apis/ratelimit.weir.dev/v1alpha1/namespaces/${NAMESPACE}/ratelimitconfigs/${name}`;
}
