// Manifests of RateLimitServices for the tests on a real API server.
import { stringify } from "yaml";

/** A manifest with a spec. */
export function serviceManifest(spec: unknown, name = "x"): string {
  return stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitService",
    metadata: { name, namespace: "default" },
    spec,
  });
}

const MEMORY = { type: "memory" };
const single = { type: "single", single: { address: "redis.shop.svc:6379" } };
const redis = (more: object): unknown => ({ backend: { type: "redis", redis: { ...single, ...more } } });
const memcached = (fields: object): unknown => ({ backend: { type: "memcached", memcached: fields } });
const env = (...variables: readonly object[]): unknown => ({ backend: MEMORY, env: variables });
const password = { passwordSecretRef: { name: "redis", key: "password" } };

/** A spec with every field. */
export const FULL_SPEC = {
  autoscaling: {
    minReplicas: 2,
    maxReplicas: 10,
    targetCPUUtilizationPercentage: 70,
    metrics: [
      { type: "Resource", resource: { name: "memory", target: { type: "Utilization", averageUtilization: 80 } } },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
  },
  fleet: "edge",
  backend: {
    type: "redis",
    redis: {
      type: "sentinel",
      sentinel: { primary: "mymaster", addresses: ["sentinel-0.redis:26379", "[::1]:26379"], auth: password },
      auth: password,
      poolSize: 20,
      connectTimeout: "2s",
      commandTimeout: "250ms",
      tls: { caSecretRef: { name: "redis", key: "ca.crt" }, clientCertificateSecret: "redis-client" },
      perSecond: { type: "cluster", cluster: { addresses: ["10.0.0.1:6379"] }, tls: true },
    },
  },
  controlPlane: { address: "weir.example.org:18000", serverName: "weir.example.org", certificateSecret: "weir" },
  tls: {
    certificateSecret: "grpc",
    clientCertificates: { caSecretRef: { name: "clients", key: "ca.crt" }, subjectAlternativeName: "envoy" },
  },
  networkPolicy: {
    enabled: true,
    from: [
      { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "gateways" } }, podSelector: {} },
      { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
    ],
    monitoringNamespaces: ["monitoring"],
  },
  failureMode: "allow",
  shadowMode: true,
  responseHeaders: { limit: "X-Limit", rule: "X-Rule" },
  statistics: {
    tags: { cluster: "eu-1" },
    maxDynamicKeys: 1000,
    push: { format: "dogstatsd", host: "datadog.monitoring", port: 8125, interval: "10s" },
    podMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "15s" },
  },
  tracing: { endpoint: "http://collector.monitoring:4318", protocol: "http", samplingPercent: 1 },
  image: "registry.example.org/weir/ratelimit:1.2.3",
  imagePullPolicy: "IfNotPresent",
  imagePullSecrets: [{ name: "pull" }],
  resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: 2, memory: "1.5Gi" } },
  nodeSelector: { "kubernetes.io/arch": "amd64" },
  tolerations: [{ key: "edge", operator: "Equal", value: "true", effect: "NoSchedule" }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
      },
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "x" } } },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
  ],
  priorityClassName: "edge",
  podLabels: { team: "edge" },
  podAnnotations: { "sidecar.istio.io/inject": "false" },
  env: [
    { name: "LOG_LEVEL", value: "info" },
    { name: "CACHE_KEY_PREFIX", valueFrom: { configMapKeyRef: { name: "edge", key: "prefix" } } },
  ],
} as const;

/** Specs that the API server accepts. */
export const ACCEPTED_SERVICES: readonly { readonly what: string; readonly spec: unknown }[] = [
  { what: "the shortest", spec: { backend: MEMORY } },
  { what: "every field", spec: FULL_SPEC },
  { what: "no pods", spec: { replicas: 0, backend: MEMORY } },
  {
    what: "many pods with memory, when that is said",
    spec: { replicas: 3, backend: { type: "memory", memory: { allowUnsharedCounters: true } } },
  },
  { what: "a single automatic pod with memory", spec: { autoscaling: { maxReplicas: 1 }, backend: MEMORY } },
  { what: "many pods with redis", spec: { replicas: 3, ...(redis({}) as object) } },
  {
    what: "a Redis Cluster",
    spec: { backend: { type: "redis", redis: { type: "cluster", cluster: { addresses: ["a:1", "b:2"] } } } },
  },
  { what: "public authorities for redis", spec: redis({ tls: {}, perSecond: { ...single, tls: true } }) },
  { what: "memcached by addresses", spec: memcached({ addresses: ["a:11211", "b:11211"], maxConnections: 4 }) },
  { what: "memcached by a record", spec: memcached({ srv: "_memcache._tcp.example.org", srvRefresh: "30s" }) },
  {
    what: "a control plane in plain text",
    spec: { backend: MEMORY, controlPlane: { address: "weir:18000", plaintext: true } },
  },
  { what: "no client at all", spec: { backend: MEMORY, networkPolicy: { from: [] } } },
  { what: "an empty variable", spec: env({ name: "LOG_FORMAT", value: "" }) },
  {
    what: "udp for dogstatsd",
    spec: { backend: MEMORY, statistics: { push: { format: "dogstatsd", host: "d", protocol: "udp" } } },
  },
];

const UNSHARED =
  "more than one pod with the backend memory, where each pod counts by itself, needs backend.memory.allowUnsharedCounters: true; or use one pod, redis or memcached";
const RESERVED = "the operator sets this variable from another field of spec; settings without a field are allowed";

/** Specs that the API server refuses, with a part of its message. */
export const REFUSED_SERVICES: readonly { readonly what: string; readonly spec: unknown; readonly refusal: string }[] =
  [
    { what: "no backend", spec: {}, refusal: "spec.backend: Required value" },
    { what: "an unknown field", spec: { backend: MEMORY, replica: 1 }, refusal: 'unknown field "spec.replica"' },
    {
      what: "replicas and autoscaling",
      spec: { ...(redis({}) as object), replicas: 2, autoscaling: { maxReplicas: 3 } },
      refusal: "spec.replicas: Forbidden: replicas must be absent when autoscaling is set",
    },
    {
      what: "more than the most at the least",
      spec: { ...(redis({}) as object), autoscaling: { minReplicas: 4, maxReplicas: 3 } },
      refusal: 'spec.autoscaling.minReplicas: Invalid value: "object": minReplicas must be at most maxReplicas',
    },
    {
      what: "a negative number of pods",
      spec: { backend: MEMORY, replicas: -1 },
      refusal: "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
    },
    { what: "two pods with memory", spec: { backend: MEMORY, replicas: 2 }, refusal: UNSHARED },
    {
      what: "two pods with memory that says no",
      spec: { backend: { type: "memory", memory: { allowUnsharedCounters: false } }, replicas: 2 },
      refusal: UNSHARED,
    },
    { what: "autoscaling with memory", spec: { backend: MEMORY, autoscaling: { maxReplicas: 2 } }, refusal: UNSHARED },
    {
      what: "redis without where",
      spec: { backend: { type: "redis" } },
      refusal:
        'spec.backend.redis: Invalid value: "object": redis is required when type is redis, and must be absent otherwise',
    },
    {
      what: "redis under memory",
      spec: { backend: { type: "memory", redis: single } },
      refusal: "redis is required when type is redis, and must be absent otherwise",
    },
    {
      what: "memory under redis",
      spec: { backend: { type: "redis", redis: single, memory: {} } },
      refusal: "memory must be absent unless type is memory",
    },
    {
      what: "an unknown backend",
      spec: { backend: { type: "valkey" } },
      refusal: 'spec.backend.type: Unsupported value: "valkey": supported values: "memory", "redis", "memcached"',
    },
    {
      what: "a cluster without nodes",
      spec: redis({ type: "cluster" }),
      refusal: "cluster is required when type is cluster, and must be absent otherwise",
    },
    {
      what: "an address without a port",
      spec: redis({ single: { address: "redis" } }),
      refusal: "spec.backend.redis.single.address: Invalid value",
    },
    {
      what: "TLS of the second store alone",
      spec: redis({ perSecond: { ...single, tls: true } }),
      refusal: "perSecond.tls needs tls of redis, which has the certificates of both stores",
    },
    {
      what: "a wait without a unit",
      spec: redis({ commandTimeout: "250" }),
      refusal: "spec.backend.redis.commandTimeout: Invalid value",
    },
    {
      what: "memcached nowhere",
      spec: memcached({}),
      refusal: "either addresses, at least one, or srv is required, and not both",
    },
    {
      what: "memcached in two ways",
      spec: memcached({ addresses: ["a:1"], srv: "_m._tcp.a" }),
      refusal: "either addresses, at least one, or srv is required, and not both",
    },
    {
      what: "lookups of no record",
      spec: memcached({ addresses: ["a:1"], srvRefresh: "1m" }),
      refusal: "srvRefresh needs srv",
    },
    {
      what: "a certificate for plain text",
      spec: { backend: MEMORY, controlPlane: { plaintext: true, certificateSecret: "a" } },
      refusal: "plaintext must be absent or false together with certificateSecret or serverName, which are about TLS",
    },
    {
      what: "a server name without an address",
      spec: { backend: MEMORY, controlPlane: { serverName: "a" } },
      refusal: "serverName needs address: the operator knows the name of its own control plane",
    },
    {
      what: "tcp for dogstatsd",
      spec: { backend: MEMORY, statistics: { push: { format: "dogstatsd", host: "d", protocol: "tcp" } } },
      refusal: "protocol must be udp or absent with the format dogstatsd",
    },
    {
      what: "a client without a block and without selectors",
      spec: { backend: MEMORY, networkPolicy: { from: [{}] } },
      refusal: "either ipBlock, or podSelector and namespaceSelector, at least one of them, is required, and not both",
    },
    {
      what: "a client that is a block and pods",
      spec: { backend: MEMORY, networkPolicy: { from: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }] } },
      refusal: "either ipBlock, or podSelector and namespaceSelector, at least one of them, is required, and not both",
    },
    {
      what: "a label of the operator",
      spec: { backend: MEMORY, podLabels: { "app.kubernetes.io/name": "mine" } },
      refusal:
        "labels that begin with app.kubernetes.io/ or ratelimit.weir.dev/ are set by the operator; any other is allowed",
    },
    {
      what: "an annotation of the operator",
      spec: { backend: MEMORY, podAnnotations: { "ratelimit.weir.dev/checksum": "0" } },
      refusal: "annotations that begin with ratelimit.weir.dev/ are set by the operator; any other is allowed",
    },
    {
      what: "a variable of the operator",
      spec: env({ name: "BACKEND_TYPE", value: "memory" }),
      refusal: `spec.env[0].name: Forbidden: ${RESERVED}`,
    },
    {
      what: "a variable of the operator by its other name",
      spec: env({ name: "REDIS_AUTH_FILE", value: "/a" }),
      refusal: RESERVED,
    },
    {
      what: "a variable twice",
      spec: env({ name: "LOG_LEVEL", value: "info" }, { name: "LOG_LEVEL", value: "warn" }),
      refusal: 'spec.env[1]: Duplicate value: map[string]interface {}{"name":"LOG_LEVEL"}',
    },
    {
      what: "a variable without a value",
      spec: env({ name: "LOG_LEVEL" }),
      refusal: "either value or valueFrom is required, and not both",
    },
    {
      what: "a value from two places",
      spec: env({
        name: "LOG_LEVEL",
        valueFrom: { fieldRef: { fieldPath: "a" }, secretKeyRef: { name: "a", key: "b" } },
      }),
      refusal: "exactly one of secretKeyRef, configMapKeyRef, fieldRef and resourceFieldRef is required",
    },
    {
      what: "no quantity",
      spec: { backend: MEMORY, resources: { limits: { cpu: "much" } } },
      refusal: "spec.resources.limits.cpu: Invalid value",
    },
    {
      what: "a name of a fleet with a slash",
      spec: { backend: MEMORY, fleet: "a/b" },
      refusal: "spec.fleet: Invalid value",
    },
  ];
