// The NetworkPolicy of a workload: the clients that may connect to its pods. Outgoing connections are not restricted.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, selectorOf, type Workload } from "./workload.ts";

/** Label of each namespace with its name; Kubernetes sets it. */
const NAMESPACE_LABEL = "kubernetes.io/metadata.name";

/** The policy; undefined: the resource wants none. */
export function renderNetworkPolicy(workload: Workload): WrittenObject | undefined {
  const { enabled = true, from, monitoringNamespaces } = workload.spec.networkPolicy ?? {};
  if (!enabled) return undefined;
  // An empty list in a rule would mean everyone.
  const clients = from?.length === 0 ? [] : [{ ...(from !== undefined && { from }), ports: portsOf("grpc") }];
  const monitoring = (monitoringNamespaces ?? workload.options.monitoring.namespaces).map((name) => ({
    namespaceSelector: { matchLabels: { [NAMESPACE_LABEL]: name } },
  }));
  return ownedObject(workload, "networkPolicy", {
    spec: {
      podSelector: { matchLabels: selectorOf(workload) },
      policyTypes: ["Ingress"],
      ingress: [
        ...clients,
        { from: [{ podSelector: {} }], ports: portsOf("http", "debug", "metrics") },
        // Not /json, which uses up limits.
        ...(monitoring.length === 0 ? [] : [{ from: monitoring, ports: portsOf("debug", "metrics") }]),
      ],
    },
  });
}

function portsOf(...names: readonly string[]): readonly object[] {
  return names.map((port) => ({ port, protocol: "TCP" }));
}
