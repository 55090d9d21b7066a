// The PodMonitor of a workload, for clusters with the Prometheus operator.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, selectorOf, type Workload } from "./workload.ts";

/** The PodMonitor; undefined: the resource wants none. */
export function renderPodMonitor(workload: Workload): WrittenObject | undefined {
  const { monitoring } = workload.options;
  const { enabled = true, labels, interval = monitoring.interval } = workload.spec.statistics?.podMonitor ?? {};
  if (!enabled) return undefined;
  const content = {
    spec: {
      selector: { matchLabels: selectorOf(workload) },
      podMetricsEndpoints: [{ port: "metrics", path: "/metrics", interval }],
    },
  };
  return ownedObject(workload, "podMonitor", content, { labels: { ...monitoring.labels, ...labels } });
}
