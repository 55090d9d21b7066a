// The part that keeps the last good revision of each RateLimitConfig.
import type { ClusterCaches } from "./reconcile/cluster-caches.ts";
import { Controller, type ControllerDeps } from "./reconcile/controller.ts";
import { reportedGeneration } from "./revisions/reported-revisions.ts";
import {
  configOfRevision,
  RevisionReconciler,
  type RevisionReconcilerDeps,
  REVISIONS,
} from "./revisions/revision-reconciler.ts";
import type { Settings } from "./settings.ts";
import { reconcileReported, type StatusParts } from "./status-parts.ts";

export interface RevisionPartDeps
  extends Omit<ControllerDeps, "reconciler">, Pick<RevisionReconcilerDeps, "log" | "objects" | "events"> {
  readonly caches: Pick<ClusterCaches, "follow">;
  readonly settings: Pick<Settings, "namespaces" | "reconcile">;
}

/** Makes the controller, before the caches are filled. */
export function createRevisionController(
  deps: RevisionPartDeps,
  { configs, watch }: Pick<StatusParts, "configs" | "watch">,
): Controller {
  const { namespaces, reconcile } = deps.settings;
  const revisions = deps.caches.follow(REVISIONS, { namespaces, isWithoutManagers: true });
  const loaded: RevisionReconcilerDeps["loaded"] = {
    loadedGeneration: (config) => reportedGeneration(config, watch.reports().of(`${config.namespace}/${config.name}`)),
  };
  const reconciler = new RevisionReconciler({ ...deps, configs, revisions, loaded });
  // One at a time: revisions are read after a restart of everything, and people wait for statuses.
  const controller = new Controller({ ...deps, reconciler }, configs, { ...reconcile, concurrency: 1 });
  controller.follow(revisions, (revision) => {
    const config = configOfRevision(revision);
    return config === undefined ? [] : [config];
  });
  reconcileReported(watch, controller);
  return controller;
}
