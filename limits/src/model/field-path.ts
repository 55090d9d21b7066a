// Paths to fields of a configuration, and how manifests and rule files write them.

/**
 * Names of fields and positions in lists, from the root to one value, e.g. `["descriptors", 2,
 * "rateLimit", "unit"]`.
 */
export type FieldPath = readonly (string | number)[];

/** Name of a model's field in a rule file, e.g. `requests_per_unit`. */
export function ruleFileName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A path in a model as rule files write it, e.g. `descriptors[2].rate_limit.unit`. */
export function ruleFilePath(path: FieldPath): string {
  return fieldPath(path.map((step) => (typeof step === "string" ? ruleFileName(step) : step)));
}

/**
 * A path in dots and brackets, e.g. `spec.descriptors[2].rateLimit.unit`; a name with other
 * characters is quoted in brackets.
 */
export function fieldPath(path: FieldPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}
