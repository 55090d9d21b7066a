// Asks a real API server what it thinks of a manifest, for tests. The server keeps nothing of it.
import { type Agent, request } from "node:https";

import type { KubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";

const RESOURCES =
  "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default/ratelimitconfigs?dryRun=All&fieldValidation=Strict";

/**
 * What the server says when it is asked to create a manifest in the namespace `default`, with
 * strict checks; undefined when it would.
 */
export async function refusalBy(cluster: KubernetesCluster, agent: Agent, text: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const headers = {
    authorization: `Bearer ${cluster.adminToken}`,
    "content-type": "application/yaml",
    accept: "application/json",
  };
  const call = request(`${cluster.url}${RESOURCES}`, { method: "POST", agent, headers }, (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    response.on("error", reject).on("end", () => {
      resolve(response.statusCode === 201 ? undefined : (JSON.parse(body) as { readonly message: string }).message);
    });
  });
  call.on("error", reject).end(text);
  return await promise;
}
