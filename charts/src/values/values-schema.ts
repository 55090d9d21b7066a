// Makes values.schema.json from the values: every key of the chart, and no other.
import { constraintOf, type JsonSchema } from "./constraints.ts";
import type { DocumentedValue, ValueGroup } from "./documented-values.ts";

/** The schema of the values of a chart; `given` has those of values by their paths, which nothing is added to. */
export function valuesSchema(
  chart: string,
  values: ValueGroup,
  given: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const { properties, ...rest } = schemaOf({ chart, given }, values, "");
  const { global = { type: "object" } } = properties as JsonSchema;
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `Values of ${chart}`,
    ...rest,
    // Helm hands in those of a parent chart, too.
    properties: { ...(properties as JsonSchema), global: { ...(global as JsonSchema), additionalProperties: true } },
  };
}

function schemaOf(
  context: { readonly chart: string; readonly given: Readonly<Record<string, JsonSchema>> },
  value: DocumentedValue,
  path: string,
): JsonSchema {
  if (value.kind === "leaf") {
    const constraint = context.given[path] ?? constraintOf(context.chart, path) ?? typeOf(value.default);
    return { description: value.description, ...constraint };
  }
  const prefix = path === "" ? "" : `${path}.`;
  const entries = [...value.values].map(([key, child]) => [key, schemaOf(context, child, prefix + key)] as const);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(entries) };
}

/** The type of a default. Whole numbers are counts, and never negative. */
function typeOf(value: unknown): JsonSchema {
  if (Array.isArray(value)) return { type: "array", items: { type: "object" } };
  if (typeof value === "number") return { type: "integer", minimum: 0 };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "string") return { type: "string" };
  return { type: "object" };
}
