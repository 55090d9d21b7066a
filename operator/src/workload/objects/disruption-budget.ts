// The PodDisruptionBudget of a workload: a drain of nodes takes one pod at a time.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, selectorOf, type Workload } from "./workload.ts";

/** The budget. A workload of one pod can be drained too, and a pod that is not ready never blocks. */
export function renderDisruptionBudget(workload: Workload): WrittenObject {
  return ownedObject(workload, "disruptionBudget", {
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: selectorOf(workload) },
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  });
}
