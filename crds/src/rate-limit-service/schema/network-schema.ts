// The schema of how a RateLimitService is reached and what it connects to: TLS, control plane, NetworkPolicy.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { flag, list, text } from "../../schema/fields.ts";
import { labelSelector } from "./selector-schema.ts";
import { annotations, host, hostPort, objectName, secretKey } from "./service-fields.ts";

const PEERS_MAX = 64;
const NAMESPACES_MAX = 64;
const EXCEPTIONS_MAX = 64;
const CIDR = /^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/;
const CIDR_LENGTH_MAX = 49;

const cidr = (description: string, example: string) =>
  text(CIDR_LENGTH_MAX).regex(CIDR, "must be a block of addresses such as 10.0.0.0/8").meta({ description, example });

const peer = z
  .object({
    podSelector: labelSelector("Labels of the pods; empty: every pod.").optional(),
    namespaceSelector: labelSelector("Labels of their namespaces; absent: the own namespace.").optional(),
    ipBlock: z
      .object({
        cidr: cidr("Block of addresses, such as 10.0.0.0/8.", "10.0.0.0/8"),
        except: list(cidr("A block of addresses.", "10.1.0.0/16"), {
          max: EXCEPTIONS_MAX,
          description: "Blocks inside it that are not meant.",
        }),
      })
      .optional()
      .describe("Addresses."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
        message:
          "either ipBlock, or podSelector and namespaceSelector, at least one of them, is required, and not both",
        isKept: ({ ipBlock, podSelector, namespaceSelector }) =>
          (ipBlock !== undefined) !== (podSelector !== undefined || namespaceSelector !== undefined),
      } satisfies CelRule<{ ipBlock?: object; podSelector?: object; namespaceSelector?: object }>,
    ],
    description: "Clients that may connect, as in a NetworkPolicy.",
    example: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "gateway" } },
      podSelector: { matchLabels: { app: "envoy" } },
    },
  });

/** Fields of the spec about connections. */
export const networkFields = {
  controlPlane: z
    .object({
      address: hostPort(
        "host:port of the control plane. Absent: the operator's own.",
        "weir.example.org:18000",
      ).optional(),
      serverName: host(
        "DNS name that the certificate of the control plane must be valid for. Absent: the host of address.",
        "weir.example.org",
      ).optional(),
      certificateSecret: objectName(
        "Name of a Secret in the same namespace with the certificate of the pods (tls.crt), its key (tls.key) and the authority of the control plane (ca.crt). " +
          "Absent: its pair in the Secret weir-ratelimit-tls, which the operator makes.",
        "edge-control-plane",
      ).optional(),
      plaintext: flag(
        "Connect without TLS: only for a control plane that serves plain text, in a network that is trusted.",
      ),
    })
    .optional()
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "!has(self.plaintext) || !self.plaintext || (!has(self.certificateSecret) && !has(self.serverName))",
          message:
            "plaintext must be absent or false together with certificateSecret or serverName, which are about TLS",
          fieldPath: ".plaintext",
          isKept: ({ plaintext, certificateSecret, serverName }) =>
            plaintext !== true || (certificateSecret === undefined && serverName === undefined),
        },
        {
          rule: "!has(self.serverName) || has(self.address)",
          message: "serverName needs address: the operator knows the name of its own control plane",
          fieldPath: ".serverName",
          isKept: ({ serverName, address }) => serverName === undefined || address !== undefined,
        },
      ] satisfies readonly CelRule<{
        address?: string;
        serverName?: string;
        certificateSecret?: string;
        plaintext?: boolean;
      }>[],
      description: "Control plane that the pods get their rules from. Absent: the operator's own.",
      example: { address: "weir.example.org:18000", serverName: "weir.example.org" },
    }),
  tls: z
    .object({
      certificateSecret: objectName(
        "Name of a Secret of type kubernetes.io/tls in the same namespace: the certificate chain (tls.crt) and its key (tls.key). It is read again when it changes.",
        "edge-grpc",
      ),
      clientCertificates: z
        .object({
          caSecretRef: secretKey("Key of a Secret with the certificates of the authority of clients, in PEM.", {
            name: "envoy-ca",
            key: "ca.crt",
          }),
          subjectAlternativeName: host(
            "DNS name that the client's certificate must be valid for. Absent: any certificate of the authority.",
            "envoy.gateway.svc",
          ).optional(),
        })
        .optional()
        .describe("Clients must present a certificate of this authority. Absent: any client may connect."),
    })
    .optional()
    .describe("TLS on the gRPC port. Absent: plain text (h2c)."),
  service: z
    .object({
      annotations: annotations("Annotations of both Services, next to those of the operator.", {
        "service.kubernetes.io/topology-mode": "Auto",
      }),
    })
    .optional()
    .describe("The Services NAME and NAME-headless, by which clients find the pods."),
  networkPolicy: z
    .object({
      enabled: flag("Whether there is a NetworkPolicy; true when absent."),
      from: list(peer, {
        max: PEERS_MAX,
        description: "Clients of the gRPC port. Absent: every client; an empty list: none.",
      }),
      monitoringNamespaces: list(objectName("A namespace.", "monitoring"), {
        max: NAMESPACES_MAX,
        description: "Names of the namespaces that may read metrics and the debug port, next to the own one.",
      }),
    })
    .optional()
    .describe("Who may connect to the pods. Outgoing connections are not restricted."),
} as const;
