// A Kubernetes API server as the control plane is meant to find it: with our
// CustomResourceDefinition, and with the role and the account that the repository ships. Writes go
// straight to the API, over kept connections: hundreds in a second, which kubectl cannot.
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";
import { ROOT } from "./flow.ts";

/** Namespace of every resource. */
const NAMESPACE = "shop";

/** Writes that are under way at most. */
const WRITES_MAX = 16;

/** A cluster with resources. */
export interface LimitsCluster {
  readonly cluster: KubernetesCluster;
  /**
   * Writes a kubeconfig of the control plane's own account, for the API server or what stands in
   * front of it on this machine.
   */
  writeKubeconfig(path: string, apiServerPort?: number): Promise<void>;
  /**
   * Applies one manifest under the name that it bears; throws with the server's words when it
   * refuses.
   */
  apply(name: string, manifest: string): Promise<void>;
  /** Deletes one resource if it is there. */
  delete(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the servers and installs what the control plane needs. */
export async function startLimitsCluster(): Promise<LimitsCluster> {
  const cluster = await startKubernetesCluster();
  try {
    const namespaces = ["weir-system", NAMESPACE];
    await cluster.apply(
      namespaces.map((name) => `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`).join("---\n"),
    );
    await cluster.apply(readFileSync(join(ROOT, "crds/crds/ratelimitconfigs.yaml"), "utf8"));
    await kubectl(cluster, [
      "wait",
      "--for=condition=Established",
      "--timeout=120s",
      "crd/ratelimitconfigs.ratelimit.weir.dev",
    ]);
    for (const name of ["service-account", "cluster-role", "cluster-role-binding"]) {
      await cluster.apply(readFileSync(join(ROOT, "control-plane/rbac", `${name}.yaml`), "utf8"));
    }
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return new WrittenCluster(cluster);
}

class WrittenCluster implements LimitsCluster {
  readonly cluster: KubernetesCluster;
  readonly #agent: Agent;

  constructor(cluster: KubernetesCluster) {
    this.cluster = cluster;
    this.#agent = new Agent({ keepAlive: true, maxSockets: WRITES_MAX, ca: cluster.caPem });
  }

  async writeKubeconfig(path: string, apiServerPort = Number(new URL(this.cluster.url).port)): Promise<void> {
    const token = await kubectl(this.cluster, ["create", "token", "weir-control-plane", "--namespace=weir-system"]);
    const server = `https://127.0.0.1:${apiServerPort}`;
    const content = {
      clusters: [
        {
          name: "test",
          cluster: { server, "certificate-authority-data": Buffer.from(this.cluster.caPem).toString("base64") },
        },
      ],
      users: [{ name: "account", user: { token: token.trim() } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "account" } }],
      "current-context": "test",
    };
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
  }

  async apply(name: string, manifest: string): Promise<void> {
    const answer = await this.#send("PATCH", `${resourcePath(name)}?fieldManager=test&force=true`, manifest);
    if (answer.status >= 300) throw new Error(`The API server refused: ${answer.text}`);
  }

  async delete(name: string): Promise<void> {
    const answer = await this.#send("DELETE", resourcePath(name));
    if (answer.status >= 300 && answer.status !== 404) throw new Error(`The API server refused: ${answer.text}`);
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    this.#agent.destroy();
  }

  async #send(
    method: string,
    path: string,
    body?: string,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const headers = {
      authorization: `Bearer ${this.cluster.adminToken}`,
      "content-type": "application/apply-patch+yaml",
    };
    const call = request(this.cluster.url + path, { method, headers, agent: this.#agent }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    call.on("error", reject).end(body);
    return await promise;
  }
}

async function kubectl(cluster: KubernetesCluster, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
  return stdout;
}

function resourcePath(name: string): string {
  return `/apis/ratelimit.weir.dev/v1alpha1/namespaces/${NAMESPACE}/ratelimitconfigs/${name}`;
}
