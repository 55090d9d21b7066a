// The constraints of values.schema.json on values, beyond the type of their defaults.

export type JsonSchema = Readonly<Record<string, unknown>>;

const LABELS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const PORT: JsonSchema = { type: "integer", minimum: 1, maximum: 65_535 };
/** The beginning of a name of an object; the chart cuts it after 40 characters. */
const NAME: JsonSchema = { type: "string", pattern: "^([a-z]([-a-z0-9]*[a-z0-9])?)?$" };
const TEXT: JsonSchema = { type: "string", minLength: 1 };
const TEXTS: JsonSchema = { type: "array", items: TEXT };

/** Changes of alerts by their name. */
const ALERT_CHANGES: JsonSchema = {
  type: "object",
  additionalProperties: {
    type: "object",
    additionalProperties: false,
    properties: {
      enabled: { type: "boolean" },
      expr: TEXT,
      for: { type: "string", pattern: "^([0-9]+(ms|[smhdwy]))+$" },
      labels: LABELS,
      annotations: LABELS,
    },
  },
};

/** A number of pods, or a share of them; without either, a budget admits no eviction at all. */
const PODS: JsonSchema = { type: ["integer", "string"], minimum: 0, pattern: "^[0-9]+%$" };
const PODS_OR_NONE: JsonSchema = { ...PODS, pattern: "^([0-9]+%)?$" };

/** Labels next to those by which the chart selects pods, which no label may replace. */
const OWN_LABELS: JsonSchema = {
  ...LABELS,
  propertyNames: { not: { pattern: String.raw`^(app\.kubernetes\.io|helm\.sh)/` } },
};

/** By the last key of a value, in every chart. */
const BY_KEY: Readonly<Record<string, JsonSchema>> = {
  commonLabels: OWN_LABELS,
  podLabels: OWN_LABELS,
  podAnnotations: LABELS,
  nodeSelector: LABELS,
  labels: LABELS,
  annotations: LABELS,
  imagePullSecrets: { type: "array", items: { type: ["string", "object"] } },
  pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
  repository: TEXT,
  digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
};

/** By the path of a value, for each chart. */
const BY_PATH: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  "weir-crds": {},
  weir: {
    "log.level": { enum: ["debug", "info", "warn", "error"] },
    "log.format": { enum: ["text", "json"] },
    kubernetesClusterDomain: {
      type: "string",
      pattern: String.raw`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`,
    },
    nameOverride: NAME,
    fullnameOverride: NAME,
    watchNamespaces: { ...TEXTS, uniqueItems: true },
    "monitoring.alerts.rules": ALERT_CHANGES,
    "monitoring.namespaces": { ...TEXTS, uniqueItems: true },
    // As the definition of RateLimitServices requires: a Service and files are named after it.
    "rateLimitService.name": { type: "string", pattern: "^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$", not: { const: "ca" } },
    "certificates.source": { enum: ["operator", "cert-manager", "external"] },
    "webhook.failurePolicy": { enum: ["Ignore", "Fail"] },
    "webhook.port": PORT,
    "webhook.timeoutSeconds": { type: "integer", minimum: 1, maximum: 30 },
    "podDisruptionBudget.maxUnavailable": PODS,
  },
  "weir-account": {
    "alerts.rules": ALERT_CHANGES,
    publicOrigin: { type: "string", pattern: "^(https?://[^/]+)?$" },
    corsOrigins: TEXTS,
    trustProxy: { type: ["integer", "string"] },
    "store.type": { enum: ["embedded", "mongo"] },
    "media.type": { enum: ["local", "s3"] },
    "media.publicUrl": { type: "string", pattern: "^(https?://.*/)?$" },
    "persistence.accessModes": TEXTS,
    "persistence.size": TEXT,
    "rateLimit.address": { type: "string", pattern: "^([^/ ]+:[0-9]+|unix:/.+)?$" },
    "rateLimit.failure": { enum: ["local", "open", "closed"] },
    "rateLimit.config.fleets": TEXTS,
    "log.level": { enum: ["debug", "info", "warn", "error"] },
    "log.format": { enum: ["text", "json"] },
    "service.type": { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
    "service.port": PORT,
    "service.metricsPort": PORT,
    "ingress.hosts": TEXTS,
    "httpRoute.hostnames": TEXTS,
    "podDisruptionBudget.maxUnavailable": PODS_OR_NONE,
    "podDisruptionBudget.minAvailable": PODS_OR_NONE,
  },
};

/** The constraint on the value at `path` of a chart; undefined when its default says everything. */
export function constraintOf(chart: string, path: string): JsonSchema | undefined {
  const key = path.slice(path.lastIndexOf(".") + 1);
  return BY_PATH[chart]?.[path] ?? BY_KEY[key];
}

/** The paths of a chart that are constrained one by one. */
export function constrainedPaths(chart: string): readonly string[] {
  return Object.keys(BY_PATH[chart] ?? {});
}
