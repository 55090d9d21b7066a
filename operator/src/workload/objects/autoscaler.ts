// The HorizontalPodAutoscaler of a workload that asks for one.
import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { apiVersionOf, OWNED_KINDS } from "./owned-kinds.ts";
import { ownedObject, podBounds, type Workload } from "./workload.ts";

/** Use of the processor at which pods are added, in percent, when the resource names no metric. */
const CPU_PERCENT = 70;

/** The autoscaler of the Deployment; undefined: the resource has a fixed number of pods. */
export function renderAutoscaler(workload: Workload): WrittenObject | undefined {
  const { autoscaling } = workload.spec;
  if (autoscaling === undefined) return undefined;
  const { min, max } = podBounds(workload.spec);
  const { kind } = OWNED_KINDS.deployment;
  return ownedObject(workload, "autoscaler", {
    spec: {
      scaleTargetRef: { apiVersion: apiVersionOf(OWNED_KINDS.deployment), kind, name: workload.name },
      minReplicas: min,
      maxReplicas: max,
      metrics: metricsOf(autoscaling),
      behavior: autoscaling.behavior,
    },
  });
}

function metricsOf({
  metrics = [],
  targetCPUUtilizationPercentage,
}: NonNullable<RateLimitServiceSpec["autoscaling"]>): readonly object[] {
  const percent = targetCPUUtilizationPercentage ?? (metrics.length === 0 ? CPU_PERCENT : undefined);
  const target = { type: "Utilization", averageUtilization: percent };
  return [...(percent === undefined ? [] : [{ type: "Resource", resource: { name: "cpu", target } }]), ...metrics];
}
