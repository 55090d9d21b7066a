// Switches one RateLimitConfig into shadow mode or out of it.
import { API_VERSION, KIND } from "@weir/crds/rate-limit-config/schema/schema";
import { ServiceError } from "@weir/common/errors/service-error";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient } from "@weir/kubernetes/client/object-client";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { RATE_LIMIT_CONFIG } from "../cluster/weir-kinds.ts";

/** Owns the field: no other tool does, so that GitOps does not take it for an edit of its own fields. */
const FIELD_MANAGER = "weir-shadow";

/**
 * Returns what has happened, for people. Fails with ServiceError: the API server refuses it, or does not know
 * the field.
 */
export async function switchConfig(
  objects: Pick<ObjectClient, "apply">,
  object: KubernetesObject,
  isOn: boolean,
  signal: AbortSignal,
): Promise<string> {
  const state = isOn ? "on" : "off";
  if (isShadow(object) === isOn) return `already ${state}`;
  const { namespace, name, uid } = object;
  const apply = async (spec: object): Promise<KubernetesObject> =>
    // With its UID: one that was deleted meanwhile must not be created.
    await objects.apply(
      RATE_LIMIT_CONFIG.api,
      { apiVersion: API_VERSION, kind: KIND, metadata: { namespace, name, uid }, ...spec },
      { fieldManager: FIELD_MANAGER, isForced: true },
      signal,
    );
  // Without the field, what `on` has set is gone, and the resource is as its other managers have it.
  let changed = await apply(isOn ? { spec: { shadowMode: true } } : {});
  if (!isOn && isShadow(changed)) changed = await apply({ spec: { shadowMode: false } });
  if (isShadow(changed) !== isOn)
    throw new ServiceError(
      "SOURCE_UNREADABLE",
      "Cannot set spec.shadowMode: the CustomResourceDefinition of the cluster does not have it, upgrade the chart weir-crds",
    );
  const others = otherManagers(object);
  if (others.length === 0) return `shadow mode ${state}`;
  return `shadow mode ${state}; ${others.join(" and ")} had set spec.shadowMode and may set it again`;
}

function isShadow({ content }: KubernetesObject): boolean {
  return fieldsOf(content["spec"])["shadowMode"] === true;
}

/** The managers that have written the field, such as a tool that applies it from Git. */
function otherManagers({ content }: KubernetesObject): readonly string[] {
  return mappingsOf(fieldsOf(content["metadata"])["managedFields"]).flatMap(({ manager, fieldsV1 }) => {
    const isOwner = Object.hasOwn(fieldsOf(fieldsOf(fieldsV1)["f:spec"]), "f:shadowMode");
    return isOwner && manager !== FIELD_MANAGER ? (textOf(manager) ?? []) : [];
  });
}
