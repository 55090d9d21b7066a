// What values.schema.json says of values beyond the type of their defaults.

/** A JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const LABELS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const TEXTS: JsonSchema = { type: "array", items: { type: "string" } };

/** By the last key of a value, in every chart. */
const BY_KEY: Readonly<Record<string, JsonSchema>> = {
  commonLabels: LABELS,
  podLabels: LABELS,
  podAnnotations: LABELS,
  nodeSelector: LABELS,
  labels: LABELS,
  annotations: LABELS,
  pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
  digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
  // A setting with a number or a boolean would be a surprise in the environment, where all is text.
  settings: { ...LABELS, propertyNames: { pattern: "^[A-Z][A-Z0-9_]*$" } },
};

/** By the path of a value, for each chart. */
const BY_PATH: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  "weir-crds": {},
  weir: {
    "log.level": { enum: ["debug", "info", "warn", "error"] },
    "log.format": { enum: ["text", "json"] },
    watchNamespaces: TEXTS,
    "certificates.source": { enum: ["operator", "cert-manager", "external"] },
    "webhook.failurePolicy": { enum: ["Ignore", "Fail"] },
    "webhook.timeoutSeconds": { type: "integer", minimum: 1, maximum: 30 },
    "podDisruptionBudget.maxUnavailable": { type: ["integer", "string"] },
  },
};

/** What is said of the value at `path` of a chart; undefined when its default says everything. */
export function constraintOf(chart: string, path: string): JsonSchema | undefined {
  const key = path.slice(path.lastIndexOf(".") + 1);
  return BY_PATH[chart]?.[path] ?? BY_KEY[key];
}

/** The paths of a chart that are constrained one by one. */
export function constrainedPaths(chart: string): readonly string[] {
  return Object.keys(BY_PATH[chart] ?? {});
}
