// Gives the API server the authorities of the webhook's certificate: the caBundle of its
// configuration, and nothing else of it.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { mappingOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { MANAGER } from "../leader/managed-by.ts";

const CONFIGURATIONS: ApiKind = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
};

/** The configuration, and the webhook in it that is ours. */
const CONFIGURATION = "weir";
const WEBHOOK = "validate.ratelimit.weir.dev";

/** With this annotation cert-manager writes the bundle. */
const INJECTED = "cert-manager.io/inject-ca-from";

/** The bundle that the API server trusts. */
export interface WebhookTrust {
  readonly resourceVersion: string;
  /** PEM; empty when there is none yet. */
  readonly bundle: string;
}

/** Reads the configuration; undefined when there is none, or none that is ours to change. */
export async function readWebhookTrust(
  objects: Pick<ObjectClient, "get">,
  signal: AbortSignal,
): Promise<WebhookTrust | undefined> {
  const configuration = await objects.get(CONFIGURATIONS, { name: CONFIGURATION }, signal);
  return configuration && trustIn(configuration);
}

/** Writes the bundle. */
export async function writeWebhookTrust(
  objects: Pick<ObjectWriter, "apply">,
  { resourceVersion, bundle }: WebhookTrust,
  signal: AbortSignal,
): Promise<void> {
  const object = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: CONFIGURATION, resourceVersion },
    webhooks: [{ name: WEBHOOK, clientConfig: { caBundle: Buffer.from(bundle).toString("base64") } }],
  };
  await objects.apply(CONFIGURATIONS, object, { fieldManager: MANAGER, isForced: true }, signal);
}

function trustIn({ content, resourceVersion }: KubernetesObject): WebhookTrust | undefined {
  if (mappingOf(mappingOf(content["metadata"])?.["annotations"])?.[INJECTED] !== undefined) return undefined;
  const webhook = mappingsOf(content["webhooks"]).find(({ name }) => name === WEBHOOK);
  if (webhook === undefined) return undefined;
  const encoded = textOf(mappingOf(webhook["clientConfig"])?.["caBundle"]) ?? "";
  return { resourceVersion, bundle: Buffer.from(encoded, "base64").toString() };
}
