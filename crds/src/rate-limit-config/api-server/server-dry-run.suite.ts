// Asks a real API server whether it accepts a manifest, for tests. The server stores nothing.
import type { ApiAnswer, ClusterApi } from "@weir/harness/kubernetes/cluster-api";

const RESOURCES = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default";
const DRY_RUN = "dryRun=All&fieldValidation=Strict";

/**
 * The error when the server is to create a manifest in the namespace `default`, with strict checks;
 * undefined when it would. `plural` names its kind.
 */
export async function refusalBy(
  api: ClusterApi,
  text: string,
  plural = "ratelimitconfigs",
): Promise<string | undefined> {
  return errorOf(await api.send("POST", `${RESOURCES}/${plural}?${DRY_RUN}`, text));
}

/**
 * The error when a manifest is to be applied as by `kubectl apply --server-side`; undefined when it
 * would be.
 */
export async function applyRefusalBy(api: ClusterApi, name: string, text: string): Promise<string | undefined> {
  return errorOf(await api.send("PATCH", `${RESOURCES}/ratelimitconfigs/${name}?${DRY_RUN}&fieldManager=test`, text));
}

function errorOf({ status, body }: ApiAnswer): string | undefined {
  return status === 201 ? undefined : (body["message"] as string);
}
