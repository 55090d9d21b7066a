// The schema of the number of pods: a fixed one, or a HorizontalPodAutoscaler.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { flag, list } from "../../schema/fields.ts";
import { count, openObject } from "./service-fields.ts";

/** Most pods of one resource. */
const REPLICAS_MAX = 1000;
const METRICS_MAX = 16;
const UTILIZATION_MAX = 1000;

const metric = z
  .object({
    type: z
      .enum(["Resource", "ContainerResource", "Pods", "Object", "External"])
      .describe("Kind of metric. The field of the same name, in lower camel case, describes it."),
    resource: openObject("Resource of the pods, with its target.", {
      name: "memory",
      target: { type: "Utilization", averageUtilization: 80 },
    }).optional(),
    containerResource: openObject("Resource of one container, with its target.", {
      name: "cpu",
      container: "ratelimit",
      target: { type: "Utilization", averageUtilization: 70 },
    }).optional(),
    pods: openObject("Metric of each pod, with its target.", {
      metric: { name: "requests_per_second" },
      target: { type: "AverageValue", averageValue: "5k" },
    }).optional(),
    object: openObject("Metric of another object, with its target.", {
      describedObject: { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name: "edge" },
      metric: { name: "requests_per_second" },
      target: { type: "Value", value: "50k" },
    }).optional(),
    external: openObject("Metric from outside of the cluster, with its target.", {
      metric: { name: "requests_per_second" },
      target: { type: "AverageValue", averageValue: "5k" },
    }).optional(),
  })
  .meta({
    description: "One metric, as in a HorizontalPodAutoscaler of autoscaling/v2.",
    example: {
      type: "Resource",
      resource: { name: "memory", target: { type: "Utilization", averageUtilization: 80 } },
    },
  });

/** A share of the pods; zero would admit no eviction at all. */
const SHARE = /^([1-9][0-9]?|100)%$/;

/** Fields of the spec about the number of pods. */
export const scalingFields = {
  replicas: count(
    [0, REPLICAS_MAX],
    "Number of pods, when it is not scaled automatically. Absent: 2, or 1 with the backend memory.",
    3,
  ).optional(),
  autoscaling: z
    .object({
      minReplicas: count(
        [1, REPLICAS_MAX],
        "Fewest pods; 2 when absent, or maxReplicas if that is less.",
        2,
      ).optional(),
      maxReplicas: count([1, REPLICAS_MAX], "Most pods.", 10),
      targetCPUUtilizationPercentage: count(
        [1, UTILIZATION_MAX],
        "Use of the processor, in percent of resources.requests.cpu, at which pods are added. Absent: 70 when there are no metrics, else not used.",
        60,
      ).optional(),
      metrics: list(metric, { max: METRICS_MAX, description: "Metrics that pods are added and removed by." }),
      behavior: openObject(
        "How quickly pods are added and removed, as in a HorizontalPodAutoscaler of autoscaling/v2.",
        { scaleDown: { stabilizationWindowSeconds: 300 } },
      ).optional(),
    })
    .optional()
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
          message: "minReplicas must be at most maxReplicas",
          fieldPath: ".minReplicas",
          isKept: ({ minReplicas = 0, maxReplicas }) => minReplicas <= maxReplicas,
        } satisfies CelRule<{ minReplicas?: number; maxReplicas: number }>,
      ],
      description: "Adds and removes pods by their load, with a HorizontalPodAutoscaler. Not together with replicas.",
    }),
  podDisruptionBudget: z
    .object({
      enabled: flag("Whether there is a PodDisruptionBudget; true when absent."),
      maxUnavailable: z
        .custom<string | number>(
          (value) =>
            typeof value === "string"
              ? SHARE.test(value)
              : Number.isInteger(value) && Number(value) >= 1 && Number(value) <= REPLICAS_MAX,
          "must be a number of pods from 1 on, or a percentage such as 25%",
        )
        .optional()
        .meta({
          "x-kubernetes-int-or-string": true,
          anyOf: [{ type: "integer" }, { type: "string" }],
          minimum: 1,
          maximum: REPLICAS_MAX,
          pattern: SHARE.source,
          description: "Most pods, or percentage of them, that may be evicted at a time; 1 when absent.",
          example: "25%",
        }),
    })
    .optional()
    .describe("How many pods a drain of nodes may take at a time."),
} as const;
