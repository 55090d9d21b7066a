// The PodDisruptionBudget of a workload: a drain of nodes takes one pod at a time, or as many as the resource says.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, selectorOf, type Workload } from "./workload.ts";

/** The budget; undefined: the resource wants none. A workload of one pod can be drained too, and a pod that is not ready never blocks. */
export function renderDisruptionBudget(workload: Workload): WrittenObject | undefined {
  const { enabled = true, maxUnavailable = 1 } = workload.spec.podDisruptionBudget ?? {};
  if (!enabled) return undefined;
  return ownedObject(workload, "disruptionBudget", {
    spec: {
      maxUnavailable,
      selector: { matchLabels: selectorOf(workload) },
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  });
}
