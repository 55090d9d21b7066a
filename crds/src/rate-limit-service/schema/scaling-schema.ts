// The schema of the number of pods: a fixed one, or a HorizontalPodAutoscaler.
import * as z from "zod";

import { list } from "../../schema/fields.ts";
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
    resource: openObject("Resource of the pods, with its target.").optional(),
    containerResource: openObject("Resource of one container, with its target.").optional(),
    pods: openObject("Metric of each pod, with its target.").optional(),
    object: openObject("Metric of another object, with its target.").optional(),
    external: openObject("Metric from outside of the cluster, with its target.").optional(),
  })
  .describe("One metric, as in a HorizontalPodAutoscaler of autoscaling/v2.");

/** Fields of the spec about the number of pods. */
export const scalingFields = {
  replicas: count(
    0,
    REPLICAS_MAX,
    "Number of pods, when it is not scaled automatically. Absent: 2, or 1 with the backend memory.",
  ).optional(),
  autoscaling: z
    .object({
      minReplicas: count(1, REPLICAS_MAX, "Fewest pods; 2 when absent, or maxReplicas if that is less.").optional(),
      maxReplicas: count(1, REPLICAS_MAX, "Most pods."),
      targetCPUUtilizationPercentage: count(
        1,
        UTILIZATION_MAX,
        "Use of the processor, in percent of resources.requests.cpu, at which pods are added. Absent: 70 when there are no metrics, else not used.",
      ).optional(),
      metrics: list(metric, { max: METRICS_MAX, description: "Metrics that pods are added and removed by." }),
      behavior: openObject(
        "How quickly pods are added and removed, as in a HorizontalPodAutoscaler of autoscaling/v2.",
      ).optional(),
    })
    .optional()
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
          message: "minReplicas must be at most maxReplicas",
          fieldPath: ".minReplicas",
        },
      ],
      description: "Adds and removes pods by their load, with a HorizontalPodAutoscaler. Not together with replicas.",
    }),
} as const;
