// The status of a resource in a namespace that Weir does not watch, or not any more: nothing is known of it.
import { isDeepStrictEqual } from "node:util";

import { KIND } from "@weir/crds/rate-limit-config/schema/schema";
import { SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";
import { fieldsOf, mappingsOf } from "@weir/kubernetes/mapping";

import { RATE_LIMIT_CONFIGS } from "../status/status-reconciler.ts";
import { apiVersionOf, RATE_LIMIT_SERVICES } from "../workload/objects/owned-kinds.ts";
import { MANAGER } from "../leader/managed-by.ts";

/** A kind whose statuses the operator writes. */
export interface StatusKind {
  readonly api: ApiKind;
  readonly kind: string;
  /** The types of its conditions. */
  readonly conditions: readonly string[];
  /** The fields that stay: what does not change by itself, and what an autoscaler reads. */
  readonly kept: readonly string[];
}

/** RateLimitConfigs. */
export const CONFIG_STATUS: StatusKind = {
  api: RATE_LIMIT_CONFIGS,
  kind: KIND,
  conditions: ["Accepted", "Programmed", "Ready"],
  kept: ["domain"],
};

/** RateLimitServices. */
export const SERVICE_STATUS: StatusKind = {
  api: RATE_LIMIT_SERVICES,
  kind: SERVICE_KIND,
  conditions: ["Ready", "Available", "Progressing", "Degraded", "Connected"],
  kept: ["replicas", "selector", "fleet"],
};

/** Why nothing is known, and the setting that says so. */
export interface NotWatchedText {
  /** `NotWatched`: no setting names the namespace any more; `NamespaceNotSelected`: its labels are not those wanted. */
  readonly reason: "NotWatched" | "NamespaceNotSelected";
  readonly message: string;
}

export interface NotWatchedDeps {
  /** Milliseconds since the epoch, for the times of conditions. */
  readonly clock: () => number;
  readonly objects: Pick<ObjectWriter, "apply">;
}

/** The status; its conditions are Unknown. */
export function notWatchedStatus(
  { content, generation = 0 }: Pick<KubernetesObject, "content" | "generation">,
  { conditions, kept }: StatusKind,
  { reason, message }: NotWatchedText,
  nowMs: number,
): Readonly<Record<string, unknown>> {
  const before = fieldsOf(content["status"]);
  // Kubernetes counts whole seconds here.
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return {
    ...Object.fromEntries(kept.filter((field) => before[field] !== undefined).map((field) => [field, before[field]])),
    observedGeneration: generation,
    conditions: conditions.map((type) => {
      const past = mappingsOf(before["conditions"]).find((condition) => condition["type"] === type);
      const lastTransitionTime = past?.["status"] === "Unknown" ? past["lastTransitionTime"] : now;
      return {
        type,
        status: "Unknown",
        reason,
        message,
        observedGeneration: generation,
        lastTransitionTime,
      };
    }),
  };
}

/** Writes the status unless the object has it. Fails with ApiFailure; `conflict`: the object is another by now. */
export async function writeNotWatched(
  { clock, objects }: NotWatchedDeps,
  kind: StatusKind,
  object: KubernetesObject,
  { text, signal }: { readonly text: NotWatchedText; readonly signal: AbortSignal },
): Promise<void> {
  const status = notWatchedStatus(object, kind, text, clock());
  if (isDeepStrictEqual(object.content["status"], status)) return;
  const { name, namespace, resourceVersion } = object;
  const metadata = { name, namespace, resourceVersion };
  const written = { apiVersion: apiVersionOf(kind.api), kind: kind.kind, metadata, status };
  const options = { fieldManager: MANAGER, isForced: true, subresource: "status" };
  try {
    await objects.apply(kind.api, written, options, signal);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.kind !== "absent") throw error;
  }
}
