// The parts that run data planes.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { ReportWatch } from "./reports/report-watch.ts";
import type { Settings } from "./settings.ts";
import { createWorkloadParts, type WorkloadControllerDeps } from "./workload/workload-controller.ts";

export interface DataPlanePartDeps extends Omit<WorkloadControllerDeps, "services" | "pods" | "connections"> {
  readonly settings: Pick<
    Settings,
    "namespace" | "namespaces" | "controlPlane" | "image" | "imagePullSecrets" | "monitoring" | "log" | "reconcile"
  >;
}

/** Makes the parts, in the order of their start, before the caches are filled. */
export function createDataPlaneParts(
  { settings, ...deps }: DataPlanePartDeps,
  {
    services,
    pods,
    watch,
  }: Pick<WorkloadControllerDeps, "services" | "pods"> & { readonly watch: Pick<ReportWatch, "reports"> },
): readonly Part[] {
  const { namespace, namespaces, controlPlane, image, imagePullSecrets, monitoring, log, reconcile } = settings;
  const { service, adsPort, tls } = controlPlane;
  const connections: WorkloadControllerDeps["connections"] = {
    connectedPods: (workload, { names, ready }) => {
      const { pods: fleets, isComplete } = watch.reports();
      if (fleets === undefined) return undefined;
      const connected = new Set(names.filter((name) => fleets.get(`${workload.namespace}/${name}`) === workload.fleet));
      return isComplete || ready.every((name) => connected.has(name)) ? connected : undefined;
    },
  };
  // Headless: a pod whose replica hangs connects to the address of another one.
  const address = `${service}.${namespace}.svc:${adsPort}`;
  const workload = {
    image,
    imagePullSecrets,
    monitoring,
    log,
    controlPlane: { address, isPlaintext: tls === undefined },
  };
  return createWorkloadParts({ ...deps, services, pods, connections }, { ...reconcile, workload, namespaces });
}
