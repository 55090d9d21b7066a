// The schema of affinity, as in Kubernetes' PodSpec.
import * as z from "zod";

import { list, text } from "../../schema/fields.ts";
import { labelSelector, requirement } from "./selector-schema.ts";
import { count, objectName } from "./service-fields.ts";

const TERMS_MAX = 16;
const REQUIREMENTS_MAX = 32;
const NAMESPACES_MAX = 64;
const KEY_LENGTH_MAX = 317;
const WEIGHT_MAX = 100;

const nodeRequirements = (description: string) =>
  list(requirement(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]), { max: REQUIREMENTS_MAX, description });

const nodeTerm = z
  .object({
    matchExpressions: nodeRequirements("Requirements on labels of the node."),
    matchFields: nodeRequirements("Requirements on fields of the node."),
  })
  .meta({
    description: "Requirements that must all be met.",
    example: { matchExpressions: [{ key: "node.example.org/pool", operator: "In", values: ["edge"] }] },
  });

const weight = count([1, WEIGHT_MAX], "How much it counts, from 1 to 100.", 100);

const nodeAffinity = z
  .object({
    requiredDuringSchedulingIgnoredDuringExecution: z
      .object({
        nodeSelectorTerms: z
          .array(nodeTerm)
          .min(1)
          .max(TERMS_MAX)
          .meta({ "x-kubernetes-list-type": "atomic", description: "Terms of which one must be met." }),
      })
      .optional()
      .describe("What a node must have."),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      z.object({ weight, preference: nodeTerm.describe("What is preferred.") }).describe("A preference."),
      { max: TERMS_MAX, description: "What a node had better have." },
    ),
  })
  .describe("Which nodes the pods may be on.");

const labelKeys = (description: string, example: readonly string[]) =>
  list(text(KEY_LENGTH_MAX).min(1), { max: REQUIREMENTS_MAX, description, example });

const podTerm = z
  .object({
    labelSelector: labelSelector("Labels of the other pods.").optional(),
    namespaceSelector: labelSelector("Labels of their namespaces.").optional(),
    namespaces: list(objectName("A namespace.", "gateway"), {
      max: NAMESPACES_MAX,
      description: "Names of their namespaces; absent: the pod's own.",
    }),
    topologyKey: text(KEY_LENGTH_MAX)
      .min(1)
      .meta({ description: "Label of nodes whose value is the place that counts.", example: "kubernetes.io/hostname" }),
    matchLabelKeys: labelKeys("Labels whose values the other pods must share with the pod.", ["pod-template-hash"]),
    mismatchLabelKeys: labelKeys("Labels whose values the other pods must not share with the pod.", ["tenant"]),
  })
  .meta({
    description: "Other pods, and a place.",
    example: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "envoy" } } },
  });

const podAffinity = (description: string) =>
  z
    .object({
      requiredDuringSchedulingIgnoredDuringExecution: list(podTerm, {
        max: TERMS_MAX,
        description: "Terms that must be met.",
      }),
      preferredDuringSchedulingIgnoredDuringExecution: list(
        z.object({ weight, podAffinityTerm: podTerm }).describe("A preference."),
        { max: TERMS_MAX, description: "Terms that are preferred." },
      ),
    })
    .describe(description);

/** Affinity of the pods. */
export const affinitySchema = z
  .object({
    nodeAffinity: nodeAffinity.optional(),
    podAffinity: podAffinity("Pods next to which they should be.").optional(),
    podAntiAffinity: podAffinity("Pods next to which they should not be.").optional(),
  })
  .describe("Where the pods should be, as in a PodSpec.");
