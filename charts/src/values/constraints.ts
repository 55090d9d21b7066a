// What values.schema.json says of values beyond the type of their defaults.

/** A JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const LABELS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const PORT: JsonSchema = { type: "integer", minimum: 1, maximum: 65_535 };
const TEXT: JsonSchema = { type: "string", minLength: 1 };
const TEXTS: JsonSchema = { type: "array", items: TEXT };

/** A number of pods, or a share of them; without either, a budget admits no eviction at all. */
const PODS: JsonSchema = { type: ["integer", "string"], minimum: 0, pattern: "^[0-9]+%$" };
const PODS_OR_NONE: JsonSchema = { ...PODS, pattern: "^([0-9]+%)?$" };

/** Labels next to those by which the chart selects pods, which no label may replace. */
const OWN_LABELS: JsonSchema = {
  ...LABELS,
  propertyNames: { not: { pattern: String.raw`^(app\.kubernetes\.io|helm\.sh)/` } },
};

/** Settings but those that values of the chart set, or that its ports and roles depend on. */
function settingsBut(owned: string): JsonSchema {
  // A number or a boolean would be a surprise in the environment, where all is text.
  return { ...LABELS, propertyNames: { pattern: "^[A-Z][A-Z0-9_]*$", not: { pattern: `^(${owned})$` } } };
}

/** Settings of both programs that the chart sets. */
const OWNED_BY_CHART = "HTTP_.*|LOG_.*|WATCH_.*|KUBE.*";

/** By the last key of a value, in every chart. */
const BY_KEY: Readonly<Record<string, JsonSchema>> = {
  commonLabels: OWN_LABELS,
  podLabels: OWN_LABELS,
  podAnnotations: LABELS,
  nodeSelector: LABELS,
  labels: LABELS,
  annotations: LABELS,
  pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
  repository: TEXT,
  digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
};

/** Settings of the account service that its chart has no value of its own for. */
export const ACCOUNT_SETTINGS: readonly string[] = [
  "ACCESS_TTL",
  "AVATAR_MAX_BYTES",
  "AVATAR_MAX_PIXELS",
  "AVATAR_REQUIRED",
  "BCRYPT_CONCURRENCY",
  "BCRYPT_COST",
  "CONNECTIONS_MAX",
  "COOKIE_SAMESITE",
  "COOKIE_SCOPE",
  "LOGOUT_ALLOW_REFRESH",
  "MAX_SESSIONS",
  "PASSWORD_BREACH_FILE",
  "PASSWORD_FORBIDDEN_WORDS",
  "PASSWORD_MIN",
  "REFRESH_ABSOLUTE",
  "REFRESH_GRACE",
  "REFRESH_IDLE",
  "REFRESH_ROTATION",
  "SHUTDOWN_DRAIN",
  "SHUTDOWN_GRACE",
  "TOKEN_ISSUER",
  "TRACING_ENABLED",
  "TRACING_EXPORTER_PROTOCOL",
  "TRACING_SAMPLING_RATE",
  "TRACING_SERVICE_INSTANCE_ID",
  "TRACING_SERVICE_NAME",
  "TRACING_SERVICE_NAMESPACE",
  "UV_THREADPOOL_SIZE",
];

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
    watchNamespaces: { ...TEXTS, uniqueItems: true },
    "operator.settings": settingsBut(
      `IMAGE|CERTIFICATES|CLUSTER_DOMAIN|CONTROL_PLANE_.*|OPERATOR_NAMESPACE|WEBHOOK_.*|LEASE_NAME|${OWNED_BY_CHART}`,
    ),
    "controlPlane.settings": settingsBut(
      `SOURCE.*|STATE_DIRECTORY|ADS_(HOST|PORT|TLS_.*|PLAINTEXT|FLEET.*|REPORT_SANS)|${OWNED_BY_CHART}`,
    ),
    // As the definition of RateLimitServices requires: a Service and files are named after it.
    "rateLimitService.name": { type: "string", pattern: "^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$", not: { const: "ca" } },
    "certificates.source": { enum: ["operator", "cert-manager", "external"] },
    "webhook.failurePolicy": { enum: ["Ignore", "Fail"] },
    "webhook.timeoutSeconds": { type: "integer", minimum: 1, maximum: 30 },
    "podDisruptionBudget.maxUnavailable": PODS,
  },
  "weir-account": {
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
    settings: {
      type: "object",
      additionalProperties: false,
      properties: Object.fromEntries(ACCOUNT_SETTINGS.map((name) => [name, { type: "string" }])),
    },
    "service.type": { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
    "service.port": PORT,
    "service.metricsPort": PORT,
    "ingress.hosts": TEXTS,
    "httpRoute.hostnames": TEXTS,
    "podDisruptionBudget.maxUnavailable": PODS_OR_NONE,
    "podDisruptionBudget.minAvailable": PODS_OR_NONE,
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
