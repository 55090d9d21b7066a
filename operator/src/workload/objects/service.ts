// The Service of a workload: its gRPC port.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, PORTS, selectorOf, type Workload } from "./workload.ts";

/** The Service. */
export function renderService(workload: Workload): WrittenObject {
  const { tls } = workload.spec;
  return ownedObject(workload, "service", {
    spec: {
      type: "ClusterIP",
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
  });
}
