// Reads RateLimitServices from a cache, as far as certificates and fleets need them. Pure.
import { fleetOf } from "@weir/crds/rate-limit-service/fleet";
import { SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { API_VERSION } from "@weir/crds/schema/api-version";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { mappingOf, textOf } from "@weir/kubernetes/mapping";

import type { CertifiedService } from "./leaf-plan.ts";

/** The service of an object that the API server has checked. */
export function readService({ name, namespace, uid, content }: KubernetesObject): CertifiedService {
  const fleet = textOf(mappingOf(content["spec"])?.["fleet"]);
  return {
    apiVersion: API_VERSION,
    kind: SERVICE_KIND,
    namespace,
    name,
    uid,
    createdMs: createdMsOf(content),
    fleet: fleetOf({ metadata: { namespace, name }, spec: { fleet } }),
  };
}

/** When an object was created, in milliseconds since the epoch; 0 when it does not say. */
export function createdMsOf(content: Readonly<Record<string, unknown>>): number {
  const createdMs = Date.parse(textOf(mappingOf(content["metadata"])?.["creationTimestamp"]) ?? "");
  return Number.isNaN(createdMs) ? 0 : createdMs;
}
