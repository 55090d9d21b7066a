// The parts that run data planes.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { ReportWatch } from "./reports/report-watch.ts";
import type { ObjectLookup } from "./reconcile/object-cache.ts";
import type { Settings } from "./settings.ts";
import { createWorkloadParts, type WorkloadControllerDeps } from "./workload/workload-controller.ts";

/** What data planes need of the process. */
export interface DataPlanePartDeps extends Omit<WorkloadControllerDeps, "services" | "connections"> {
  readonly settings: Pick<Settings, "namespace" | "namespaces" | "controlPlane" | "image" | "reconcile">;
}

/** Makes the parts, in the order of their start, before the caches are filled. */
export function createDataPlaneParts(
  { settings, ...deps }: DataPlanePartDeps,
  { services, watch }: { readonly services: ObjectLookup; readonly watch: Pick<ReportWatch, "reports"> },
): readonly Part[] {
  const { namespace, namespaces, controlPlane, image, reconcile } = settings;
  const { adsService, adsPort, tls } = controlPlane;
  const connections = {
    connectedPods: (podNamespace: string, names: readonly string[]): ReadonlySet<string> | undefined => {
      const { pods } = watch.reports();
      return pods && new Set(names.filter((name) => pods.has(`${podNamespace}/${name}`)));
    },
  };
  const address = `${adsService}.${namespace}.svc:${adsPort}`;
  const workload = { image, controlPlane: { address, isPlaintext: tls === undefined } };
  return createWorkloadParts({ ...deps, services, connections }, { ...reconcile, workload, namespaces });
}
