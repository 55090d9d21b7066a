// Asks a real API server whether it accepts a manifest, for tests. The server stores nothing.
import type { ApiAnswer, ClusterApi } from "@weir/harness/kubernetes/cluster-api";

const RESOURCES = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default";
const DRY_RUN = "dryRun=All&fieldValidation=Strict";

/** The API server adds this when it stops before it has checked everything; 1.34 without quotes. */
const UNCHECKED =
  /, <nil>: Invalid value: (?:"null"|null): some validation rules were not checked because the object was invalid; correct the existing errors to complete validation\]$/;
const PREFIX = 'RateLimitConfig.ratelimit.weir.dev "x" is invalid: ';

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

/** The same of a RateLimitConfig named x, without the parts that are in every error. */
export async function shortRefusalBy(api: ClusterApi, text: string): Promise<string | undefined> {
  const refusal = await refusalBy(api, text);
  return refusal === undefined ? undefined : shortened(refusal);
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

function shortened(message: string): string {
  const checked = UNCHECKED.test(message)
    ? message.replace(UNCHECKED, "").replace(" is invalid: [", " is invalid: ")
    : message;
  if (!checked.startsWith(PREFIX)) return checked;
  // The server checks fields in an order of its own, which changes from run to run.
  return checked
    .slice(PREFIX.length)
    .split(/, (?=spec\.)/)
    .toSorted()
    .join(", ");
}
