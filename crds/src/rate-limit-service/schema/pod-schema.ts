// The schema of what a RateLimitService says about its pods: resources, scheduling, metadata.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { list, text } from "../../schema/fields.ts";
import { affinitySchema } from "./affinity-schema.ts";
import { labelSelector } from "./selector-schema.ts";
import { annotations, count, labels, objectName, quantities } from "./service-fields.ts";

const TOLERATIONS_MAX = 32;
const CONSTRAINTS_MAX = 16;
const PULL_SECRETS_MAX = 16;
const KEY_LENGTH_MAX = 317;
const VALUE_LENGTH_MAX = 63;
const IMAGE_LENGTH_MAX = 512;
const SECONDS_MAX = 2_147_483_647;
const SKEW_MAX = 10_000;
const ID_MAX = 2_147_483_647;
const GROUPS_MAX = 16;

/** Labels by which the operator finds its own objects. */
const RESERVED_LABEL: CelRule<Readonly<Record<string, string>>> = {
  rule: "!self.exists(name, name.startsWith('app.kubernetes.io/') || name.startsWith('ratelimit.weir.dev/'))",
  message:
    "labels that begin with app.kubernetes.io/ or ratelimit.weir.dev/ are set by the operator; any other is allowed",
  isKept: (self) => !Object.keys(self).some((name) => /^(app\.kubernetes\.io|ratelimit\.weir\.dev)\//.test(name)),
};

const toleration = z
  .object({
    key: text(KEY_LENGTH_MAX)
      .optional()
      .meta({ description: "Key of the taint; absent with Exists: every taint.", example: "node.example.org/pool" }),
    operator: z.enum(["Exists", "Equal"]).optional().describe("How value is compared; Equal when absent."),
    value: text(VALUE_LENGTH_MAX).optional().meta({ description: "Value of the taint.", example: "edge" }),
    effect: z
      .enum(["NoSchedule", "PreferNoSchedule", "NoExecute"])
      .optional()
      .describe("Effect of the taint; absent: all."),
    tolerationSeconds: z
      .int()
      .min(0)
      .max(SECONDS_MAX)
      .optional()
      .meta({ format: "int64", description: "How long NoExecute is tolerated; absent: indefinitely.", example: 300 }),
  })
  .meta({
    description: "A taint that the pods tolerate.",
    example: { key: "node.example.org/pool", operator: "Equal", value: "edge", effect: "NoSchedule" },
  });

/** A user or group of Linux, but root. */
const id = (description: string) =>
  z.int().min(1).max(ID_MAX).meta({ format: "int64", description, example: 1_000_650_000 });

const spreadConstraint = z
  .object({
    maxSkew: count([1, SKEW_MAX], "Most pods that one place may have more than another.", 1),
    topologyKey: text(KEY_LENGTH_MAX).min(1).meta({
      description: "Label of nodes whose value is the place, such as topology.kubernetes.io/zone.",
      example: "topology.kubernetes.io/zone",
    }),
    whenUnsatisfiable: z
      .enum(["DoNotSchedule", "ScheduleAnyway"])
      .describe("What happens to a pod that would break it."),
    labelSelector: labelSelector("Pods that count; absent: those of this resource.").optional(),
    matchLabelKeys: list(text(KEY_LENGTH_MAX).min(1), {
      max: CONSTRAINTS_MAX,
      description: "Labels whose values the pods must share to count together.",
      example: ["pod-template-hash"],
    }),
    minDomains: count([1, SKEW_MAX], "Fewest places; only with DoNotSchedule.", 3).optional(),
    nodeAffinityPolicy: z
      .enum(["Honor", "Ignore"])
      .optional()
      .describe("Whether node affinity decides which nodes count."),
    nodeTaintsPolicy: z.enum(["Honor", "Ignore"]).optional().describe("Whether taints decide which nodes count."),
  })
  .meta({
    description: "A rule of how the pods are spread.",
    example: { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" },
  });

/** Fields of the spec about the pods. */
export const podFields = {
  image: text(IMAGE_LENGTH_MAX)
    .min(1)
    .regex(/^\S+$/, "must be a reference to an image, without spaces")
    .optional()
    .meta({
      description: "Image of the pods. Absent: the one of the operator's own release.",
      example: "registry.example.org/weir/ratelimit:1.2.3",
    }),
  imagePullPolicy: z.enum(["Always", "IfNotPresent", "Never"]).optional().describe("When the image is pulled."),
  imagePullSecrets: list(
    z
      .object({ name: objectName("Name of the Secret, in the same namespace.", "registry") })
      .describe("Names a Secret."),
    { max: PULL_SECRETS_MAX, keys: ["name"], description: "Secrets with which the image is pulled." },
  ),
  resources: z
    .object({
      requests: quantities("What is reserved for each pod, such as cpu and memory.", {
        cpu: "500m",
        memory: "128Mi",
      }).optional(),
      limits: quantities("What each pod may use at most.", { cpu: "2", memory: "256Mi" }).optional(),
    })
    .optional()
    .describe(
      "Processor and memory of each pod's container. Absent: 250m and 256Mi are reserved, and 256Mi is the limit.",
    ),
  nodeSelector: labels("Labels that a node must have.", { "kubernetes.io/arch": "amd64" }).optional(),
  tolerations: list(toleration, { max: TOLERATIONS_MAX, description: "Taints that the pods tolerate." }),
  affinity: affinitySchema.optional(),
  topologySpreadConstraints: list(spreadConstraint, {
    max: CONSTRAINTS_MAX,
    description:
      "How the pods are spread over nodes, zones and the like. Absent: over nodes and zones as well as possible.",
  }),
  podSecurityContext: z
    .object({
      runAsUser: id("User of the processes.").optional(),
      runAsGroup: id("Group of the processes.").optional(),
      fsGroup: id("Group that may read the mounted Secrets.").optional(),
      supplementalGroups: list(id("A group."), { max: GROUPS_MAX, description: "Further groups of the processes." }),
    })
    .optional()
    .meta({
      description:
        "User and groups of the pods. Absent: 65532 for all; an empty object: those that the cluster chooses, as OpenShift does. The pods never run as root.",
      example: {},
    }),
  priorityClassName: objectName("Name of the PriorityClass of the pods.", "system-cluster-critical").optional(),
  podLabels: labels("Labels of the pods, next to those of the operator.", { team: "edge" })
    .optional()
    .meta({ "x-kubernetes-validations": [RESERVED_LABEL] }),
  podAnnotations: annotations("Annotations of the pods, next to those of the operator.", {
    "sidecar.istio.io/inject": "false",
  }),
} as const;
