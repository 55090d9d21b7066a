// The part that notes which namespaces are watched, and marks what is in those that are not any more.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import { Controller, type ControllerDeps } from "./reconcile/controller.ts";
import { ObjectCache, type ObjectLookup } from "./reconcile/object-cache.ts";
import { DroppedNamespaces, type DroppedNamespacesDeps } from "./scope/dropped-namespaces.ts";
import type { Settings } from "./settings.ts";

export interface ScopePartDeps extends Omit<ControllerDeps, "reconciler">, Omit<DroppedNamespacesDeps, "watched"> {
  readonly settings: Pick<Settings, "namespace" | "namespaces" | "lease" | "reconcile">;
}

/** Makes the part. The first and the last resource of a namespace change the note. */
export function createScopePart({ settings, ...deps }: ScopePartDeps, watched: readonly ObjectLookup[]): Part {
  const { namespace, namespaces, lease, reconcile } = settings;
  const dropped = new DroppedNamespaces({ ...deps, watched }, { namespace, namespaces, leaseName: lease.name });
  const options = { ...reconcile, concurrency: 1 };
  const controller = new Controller({ ...deps, reconciler: dropped }, new ObjectCache(), options);
  for (const objects of watched)
    objects.onChange((before, after) => {
      if (before === undefined || after === undefined) controller.add(dropped.key);
    });
  return {
    name: controller.name,
    start: () => {
      dropped.start();
      controller.start();
      controller.add(dropped.key);
    },
    stop: () => controller.stop(),
  };
}
