// The schema of the status of a RateLimitService.
import * as z from "zod";

import { CONDITIONS_MAX, conditionSchema, generation } from "../../schema/condition.ts";
import { FLEET_NAME_LENGTH_MAX } from "../../schema/fleet-name.ts";
import { list } from "../../schema/fields.ts";
import { count } from "./service-fields.ts";

const PODS_MAX = 2_147_483_647;
const SELECTOR_LENGTH_MAX = 1024;

const condition = conditionSchema({
  type:
    "What the condition is about. Ready: available, rolled out, connected and not degraded. Available: enough pods are ready. Progressing: a change is being " +
    "rolled out. Degraded: something is wrong that does not go away by itself. Connected: all ready pods of this resource are connected to the control plane.",
  reason:
    "Why, in one word for programs. Degraded: RolloutStuck, RolloutPaused, FleetConflict, NameTaken, Refused, InvalidSpec, AsExpected. All: NotWatched.",
  example: {
    type: "Degraded",
    status: "True",
    observedGeneration: 3,
    lastTransitionTime: "2026-01-31T12:00:00Z",
    reason: "RolloutStuck",
    message: "pod edge-7d9c: Unschedulable: 0/3 nodes are available: 3 Insufficient memory",
  },
});

export const statusSchema = z
  .object({
    observedGeneration: generation.optional().describe("Generation of the resource that this status is about."),
    conditions: list(condition, {
      max: CONDITIONS_MAX,
      keys: ["type"],
      description: "Ready, Available, Progressing, Degraded and Connected.",
    }),
    replicas: count([0, PODS_MAX], "Pods that exist.", 3).optional(),
    readyReplicas: count([0, PODS_MAX], "Pods that are ready.", 3).optional(),
    connectedPods: count(
      [0, PODS_MAX],
      "Ready pods of this resource that are connected to the control plane.",
      3,
    ).optional(),
    selector: z.string().max(SELECTOR_LENGTH_MAX).optional().meta({
      description: "Labels of the pods, as a selector: for a HorizontalPodAutoscaler of your own.",
      example: "app.kubernetes.io/instance=edge,app.kubernetes.io/name=weir-ratelimit",
    }),
    fleet: z
      .string()
      .max(FLEET_NAME_LENGTH_MAX)
      .optional()
      .meta({ description: "Fleet that the pods belong to.", example: "gateway.edge" }),
  })
  .describe("State of the pods. Written by the operator.");
