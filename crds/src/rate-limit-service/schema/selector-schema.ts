// Selectors of labels, as in Kubernetes' own kinds.
import * as z from "zod";

import { list, text } from "../../schema/fields.ts";
import { labels } from "./service-fields.ts";

const EXPRESSIONS_MAX = 32;
const VALUES_MAX = 64;
const KEY_LENGTH_MAX = 317;
const VALUE_LENGTH_MAX = 63;

/** One requirement, with these operators. */
export function requirement<const Operators extends readonly [string, ...string[]]>(
  operators: Operators,
): z.ZodObject<{
  key: z.ZodString;
  operator: z.ZodEnum<{ [Operator in Operators[number]]: Operator }>;
  values: z.ZodOptional<z.ZodArray<z.ZodString>>;
}> {
  return z
    .object({
      key: text(KEY_LENGTH_MAX)
        .min(1)
        .meta({ description: "Name of the label.", example: "topology.kubernetes.io/zone" }),
      operator: z.enum(operators).describe(`How the label's value relates to values: ${operators.join(", ")}.`),
      values: list(text(VALUE_LENGTH_MAX), {
        max: VALUES_MAX,
        description: "Values; none with Exists and DoesNotExist.",
        example: ["eu-west-1a", "eu-west-1b"],
      }),
    })
    .describe("One requirement.");
}

/** The fields of a selector. */
export interface LabelSelector {
  matchLabels?: Record<string, string> | undefined;
  matchExpressions?:
    { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] | undefined }[] | undefined;
}

/** A selector of labels. */
export function labelSelector(description: string): z.ZodType<LabelSelector> {
  return z
    .object({
      matchLabels: labels("Labels that must have these values.", { app: "envoy" }).optional(),
      matchExpressions: list(requirement(["In", "NotIn", "Exists", "DoesNotExist"]), {
        max: EXPRESSIONS_MAX,
        description: "Requirements that must all be met.",
      }),
    })
    .describe(description);
}
