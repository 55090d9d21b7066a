// Asks a real API server whether it accepts a manifest, for tests. The server stores nothing.
import { type Agent, request } from "node:https";

import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";

const RESOURCES = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default";
const DRY_RUN = "dryRun=All&fieldValidation=Strict";

/**
 * The error when the server is to create a manifest in the namespace `default`, with strict checks;
 * undefined when it would. `plural` names its kind.
 */
export async function refusalBy(
  cluster: KubernetesCluster,
  agent: Agent,
  text: string,
  plural = "ratelimitconfigs",
): Promise<string | undefined> {
  return await errorOf(cluster, agent, {
    method: "POST",
    path: `${RESOURCES}/${plural}?${DRY_RUN}`,
    type: "application/yaml",
    text,
  });
}

/**
 * The error when a manifest is to be applied as by `kubectl apply --server-side`; undefined when it
 * would be.
 */
export async function applyRefusalBy(
  cluster: KubernetesCluster,
  agent: Agent,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<string | undefined> {
  const path = `${RESOURCES}/ratelimitconfigs/${name}?${DRY_RUN}&fieldManager=test`;
  return await errorOf(cluster, agent, { method: "PATCH", path, type: "application/apply-patch+yaml", text });
}

async function errorOf(
  cluster: KubernetesCluster,
  agent: Agent,
  call: { readonly method: string; readonly path: string; readonly type: string; readonly text: string },
): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const headers = {
    authorization: `Bearer ${cluster.adminToken}`,
    "content-type": call.type,
    accept: "application/json",
  };
  const sent = request(`${cluster.url}${call.path}`, { method: call.method, agent, headers }, (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    response.on("error", reject).on("end", () => {
      resolve(response.statusCode === 201 ? undefined : (JSON.parse(body) as { readonly message: string }).message);
    });
  });
  sent.on("error", reject).end(call.text);
  return await promise;
}
