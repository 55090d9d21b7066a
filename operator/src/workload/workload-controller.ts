// The parts that keep RateLimitServices: the reconciler, its controller, and which kinds this follows.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { ClusterCaches } from "../reconcile/cluster-caches.ts";
import { Controller, type ControllerDeps, type ControllerOptions } from "../reconcile/controller.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import { MANAGED_LABEL, MANAGER } from "../leader/managed-by.ts";
import { OWNED_KIND_NAMES, OWNED_KINDS, type OwnedKind, type OwnedKindName, PODS } from "./objects/owned-kinds.ts";
import type { WorkloadOptions } from "./objects/workload.ts";
import { WorkloadReconciler, type WorkloadReconcilerDeps } from "./workload-reconciler.ts";

export interface WorkloadControllerDeps
  extends
    Omit<ControllerDeps, "reconciler">,
    Pick<WorkloadReconcilerDeps, "clock" | "objects" | "connections" | "foreignSecrets" | "events"> {
  /** RateLimitServices, which other parts read too. */
  readonly services: ObjectLookup;
  /** Those of {@link followPods}, which other parts read too. */
  readonly pods: ObjectLookup;
  /** Follows the kinds of objects that only this controller reads. */
  readonly caches: Pick<ClusterCaches, "follow">;
}

/** How the controller works. */
export interface WorkloadControllerOptions extends ControllerOptions {
  readonly workload: WorkloadOptions;
  /** The namespaces whose resources it works for; undefined: all. */
  readonly namespaces: readonly string[] | undefined;
}

const labelSelector = `${MANAGED_LABEL}=${MANAGER}`;

/** Follows the pods of all RateLimitServices. */
export function followPods(
  caches: WorkloadControllerDeps["caches"],
  { namespaces }: Pick<WorkloadControllerOptions, "namespaces">,
): ObjectLookup {
  return caches.follow(PODS, { namespaces, labelSelector });
}

/** Makes the reconciler and its controller, in the order of their start. Follows kinds: before the caches start. */
export function createWorkloadParts(
  deps: WorkloadControllerDeps,
  { workload, namespaces, ...options }: WorkloadControllerOptions,
): readonly Part[] {
  const follow = (kind: OwnedKind): ObjectLookup =>
    deps.caches.follow(kind, { namespaces, labelSelector, isOptional: kind.isOptional === true });
  const followed = new Map<string, ObjectLookup>();
  const entries = OWNED_KIND_NAMES.map((name) => {
    const kind: OwnedKind = OWNED_KINDS[name];
    return [name, followed.getOrInsertComputed(kind.plural, () => follow(kind))];
  });
  const owned = Object.fromEntries(entries) as Record<OwnedKindName, ObjectLookup>;
  const reconciler = new WorkloadReconciler({ ...deps, owned }, workload);
  const controller = new Controller({ ...deps, reconciler }, deps.services, options);
  for (const { objects, keysOf } of reconciler.sources()) controller.follow(objects, keysOf);
  return [reconciler, controller];
}
