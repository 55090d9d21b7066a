// The Services of a workload: its gRPC port, at one address, and at that of each ready pod.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, PORTS, selectorOf, type Workload } from "./workload.ts";

/** The Service for clients that ask any pod. */
export function renderService(workload: Workload): WrittenObject {
  return renderAs(workload, "service", { type: "ClusterIP" });
}

/**
 * The Service for clients that spread their calls, as Envoy does. Connections of gRPC are long, so behind one address all
 * calls of a proxy are for one pod.
 */
export function renderHeadlessService(workload: Workload): WrittenObject {
  return renderAs(workload, "headlessService", { type: "ClusterIP", clusterIP: "None" });
}

function renderAs(workload: Workload, kind: "service" | "headlessService", address: object): WrittenObject {
  const { tls, service } = workload.spec;
  const content = {
    spec: {
      ...address,
      selector: selectorOf(workload),
      ports: [
        {
          name: "grpc",
          port: PORTS.grpc,
          targetPort: "grpc",
          protocol: "TCP",
          // Gateways speak HTTP/2 without TLS to such a port.
          ...(tls === undefined && { appProtocol: "kubernetes.io/h2c" }),
        },
      ],
    },
  };
  return ownedObject(workload, kind, content, { annotations: service?.annotations });
}
