// The schema of a condition, as Kubernetes has it (metav1.Condition).
import * as z from "zod";

/** Most conditions of one status. */
export const CONDITIONS_MAX = 16;

const CONDITION_TYPE_LENGTH_MAX = 316;
const CONDITION_REASON_LENGTH_MAX = 1024;
const CONDITION_MESSAGE_LENGTH_MAX = 32_768;
const CONDITION_REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

const time = z.string().meta({ format: "date-time" });

/** The generation of a resource. */
export const generation = z.int().min(0).meta({ format: "int64", example: 3 });

/** One condition, as a status has it. */
interface ConditionExample {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

/** The condition of a kind; the texts describe its types and reasons. */
export function conditionSchema({
  example,
  ...texts
}: {
  readonly type: string;
  readonly reason: string;
  readonly example: ConditionExample;
}): z.ZodObject<{
  type: z.ZodString;
  status: z.ZodEnum<{ True: "True"; False: "False"; Unknown: "Unknown" }>;
  observedGeneration: z.ZodOptional<z.ZodInt>;
  lastTransitionTime: z.ZodString;
  reason: z.ZodString;
  message: z.ZodString;
}> {
  return z
    .object({
      type: z.string().min(1).max(CONDITION_TYPE_LENGTH_MAX).meta({ description: texts.type, example: example.type }),
      status: z.enum(["True", "False", "Unknown"]).describe("Status of the condition."),
      observedGeneration: generation.optional().describe("Generation of the resource that the condition was found on."),
      lastTransitionTime: time.meta({
        description: "When the status last changed.",
        example: example.lastTransitionTime,
      }),
      reason: z.string().min(1).max(CONDITION_REASON_LENGTH_MAX).regex(CONDITION_REASON).meta({
        description: texts.reason,
        example: example.reason,
      }),
      message: z
        .string()
        .max(CONDITION_MESSAGE_LENGTH_MAX)
        .meta({ description: "Why, for people.", example: example.message }),
    })
    .meta({ description: "One condition.", example });
}
