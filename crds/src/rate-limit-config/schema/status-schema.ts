// The schema of the status of a RateLimitConfig.
import * as z from "zod";

import { CONDITIONS_MAX, conditionSchema, generation } from "../../schema/condition.ts";
import { flag, list } from "../../schema/fields.ts";

// Bounds of lists and texts: a status stays far below what an API server stores, however many pods
// there are.

/** Most fleets of a status. */
export const FLEETS_MAX = 65;
/** Most problems of a status. */
export const PROBLEMS_MAX = 32;
/** Most rejections of a status. */
export const REJECTIONS_MAX = 32;
/** Longest message of a problem or a rejection, in characters. */
export const MESSAGE_LENGTH_MAX = 4096;
/** Longest path of a field, in characters. */
export const FIELD_LENGTH_MAX = 1024;
const NAME_LENGTH_MAX = 253;
const POD_LENGTH_MAX = 63 + 1 + NAME_LENGTH_MAX;
const VERSION_LENGTH_MAX = 128;

const PODS_MAX = 2_147_483_647;

const message = z.string().max(MESSAGE_LENGTH_MAX);
const version = z.string().max(VERSION_LENGTH_MAX);

const condition = conditionSchema({
  type:
    "What the condition is about. Accepted: the rules are valid and own their domain. Programmed: the rate limit pods enforce them. Ready: " +
    "both, with the reason of the first that is not True.",
  reason:
    "Why, in one word for programs. Accepted: Valid, InvalidSpec, DomainConflict, TooManyFleets, TooMany, TooLarge. Programmed: Programmed, " +
    "PartiallyProgrammed, Pending, NoDataPlane, RejectedByDataPlane, NotAccepted. Both: Pending, ReplicaSilent, NoControlPlane, NotWatched, NamespaceNotSelected.",
  example: {
    type: "Programmed",
    status: "False",
    observedGeneration: 3,
    lastTransitionTime: "2026-01-31T12:00:00Z",
    reason: "RejectedByDataPlane",
    message: "1 of 3 pods rejected it",
  },
});

const podCounts = {
  total: count("Pods that these rules are for: those that are connected, and ready ones that should be.", 4),
  accepted: count("Pods that enforce them.", 2),
  rejected: count("Pods that rejected them.", 1),
  pending: count("Pods that have not answered yet, or are ready and not connected.", 1),
} as const;

const fleet = z
  .object({
    name: z.string().min(1).max(NAME_LENGTH_MAX).meta({
      description: "Name of a fleet that the rules name; * means all together, for rules that name none.",
      example: "edge",
    }),
    version: version.optional().meta({
      description: "Digest of this resource's own revision there: it changes with an edit of this resource only.",
      example: "5b142383be9c5b142383",
    }),
    ...podCounts,
    unknown: count(
      "Clients that claim to be of the fleet, and are no ready pod of the RateLimitService that owns it. They count nowhere else.",
      0,
    ),
  })
  .describe("One fleet.");

const problem = z
  .object({
    field: z.string().max(FIELD_LENGTH_MAX).meta({
      description: "Path of the field, such as spec.descriptors[2].rateLimit.unit.",
      example: "spec.descriptors[1].key",
    }),
    message: message.meta({
      description: "What is wrong, and what is allowed.",
      example: "duplicate descriptor composite key 'shop.a_b', first at spec.descriptors[0]",
    }),
  })
  .describe("One thing that is wrong.");

const rejection = z
  .object({
    pod: z.string().min(1).max(POD_LENGTH_MAX).meta({
      description:
        "Namespace and name of the pod, such as gateway/ratelimit-7, or its node id when it reports no name.",
      example: "gateway/ratelimit-7",
    }),
    message: message.meta({ description: "The reason it gave.", example: "gateway/shop: unknown unit" }),
  })
  .describe("One pod's rejection.");

/** The status, as it is written. */
export type RateLimitConfigStatus = z.infer<typeof statusSchema>;

export type StatusCondition = z.infer<typeof condition>;

export const statusSchema = z
  .object({
    observedGeneration: generation.optional().describe("Generation of the resource that this status is about."),
    conditions: list(condition, {
      max: CONDITIONS_MAX,
      keys: ["type"],
      description:
        "Accepted: the rules are valid and own their domain. Programmed: the rate limit pods have loaded them. Ready: both.",
    }),
    domain: z
      .string()
      .max(NAME_LENGTH_MAX + 3)
      .optional()
      .meta({ description: "Domain that was observed; the resource owns it when it is accepted.", example: "shop" }),
    servesLastGood: flag("Whether an earlier revision of the rules is enforced, because the present one was rejected."),
    shadowMode: flag("Whether the present rules are all in shadow mode by spec.shadowMode; absent when they are not."),
    pods: z
      .object({
        ...podCounts,
        summary: z
          .string()
          .max(32)
          .optional()
          .meta({ description: "Accepted and total, such as 3/4, for kubectl get.", example: "2/4" }),
      })
      .optional()
      .describe("Pods of all fleets, by their answer to the present rules."),
    fleets: list(fleet, {
      max: FLEETS_MAX,
      keys: ["name"],
      description: `Pods of each fleet that these rules name, for at most ${FLEETS_MAX} fleets.`,
    }),
    problems: list(problem, {
      max: PROBLEMS_MAX,
      description: `What is wrong with the rules, at most ${PROBLEMS_MAX} of it.`,
    }),
    // No map by pod: two pods may report the same node id.
    rejections: list(rejection, {
      max: REJECTIONS_MAX,
      description: `Pods that rejected the rules, at most ${REJECTIONS_MAX} of them.`,
    }),
  })
  .describe("Result of the rules. Written by the operator.");

function count(description: string, example: number): z.ZodOptional<z.ZodInt> {
  return z.int().min(0).max(PODS_MAX).optional().meta({ format: "int32", description, example });
}
