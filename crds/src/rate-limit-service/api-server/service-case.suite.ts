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
const memory = (fields: object): object => ({ backend: MEMORY, ...fields });
const redis = (more: object): object => ({ backend: { type: "redis", redis: { ...single, ...more } } });
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
  podSecurityContext: { runAsUser: 1001, runAsGroup: 1001, fsGroup: 1001, supplementalGroups: [1002] },
  podDisruptionBudget: { enabled: true, maxUnavailable: "25%" },
  service: { annotations: { "service.kubernetes.io/topology-mode": "Auto" } },
  priorityClassName: "edge",
  podLabels: { team: "edge" },
  podAnnotations: { "sidecar.istio.io/inject": "false" },
  env: [
    { name: "LOG_LEVEL", value: "info" },
    { name: "CACHE_KEY_PREFIX", valueFrom: { configMapKeyRef: { name: "edge", key: "prefix" } } },
  ],
} as const;

/** Specs that the API server accepts. */
export const ACCEPTED_SERVICES: readonly (readonly [what: string, spec: unknown])[] = [
  ["the shortest", { backend: MEMORY }],
  ["every field", FULL_SPEC],
  ["no pods", { replicas: 0, backend: MEMORY }],
  [
    "many pods with memory, when that is said",
    { replicas: 3, backend: { type: "memory", memory: { allowUnsharedCounters: true } } },
  ],
  ["a single automatic pod with memory", { autoscaling: { maxReplicas: 1 }, backend: MEMORY }],
  ["an autoscaler with the default resources", { ...redis({}), autoscaling: { maxReplicas: 3 } }],
  [
    "an autoscaler with a limit of the processor, which is also requested",
    { ...redis({}), autoscaling: { maxReplicas: 3 }, resources: { limits: { cpu: 1 } } },
  ],
  [
    "an autoscaler by another metric",
    {
      ...redis({}),
      autoscaling: { maxReplicas: 3, metrics: [{ type: "Pods", pods: {} }] },
      resources: { requests: { memory: "128Mi" } },
    },
  ],
  ["a user that the cluster chooses", memory({ podSecurityContext: {} })],
  ["a budget of two pods", memory({ podDisruptionBudget: { maxUnavailable: 2 } })],
  ["many pods with redis", { replicas: 3, ...redis({}) }],
  [
    "a Redis Cluster",
    { backend: { type: "redis", redis: { type: "cluster", cluster: { addresses: ["a:1", "b:2"] } } } },
  ],
  ["public authorities for redis", redis({ tls: {}, perSecond: { ...single, tls: true } })],
  ["memcached by addresses", memcached({ addresses: ["a:11211", "b:11211"], maxConnections: 4 })],
  ["memcached by a record", memcached({ srv: "_memcache._tcp.example.org", srvRefresh: "30s" })],
  ["a control plane in plain text", memory({ controlPlane: { address: "weir:18000", plaintext: true } })],
  ["no client at all", memory({ networkPolicy: { from: [] } })],
  ["an empty variable", env({ name: "LOG_FORMAT", value: "" })],
  ["udp for dogstatsd", memory({ statistics: { push: { format: "dogstatsd", host: "d", protocol: "udp" } } })],
];

const UNSHARED =
  "more than one pod with the backend memory, where each pod counts by itself, needs backend.memory.allowUnsharedCounters: true; or use one pod, redis or memcached";
const RESERVED = "the operator sets this variable from another field of spec; settings without a field are allowed";
const ADDRESSES_OR_SRV = "either addresses, at least one, or srv is required, and not both";
const BLOCK_OR_SELECTORS =
  "either ipBlock, or podSelector and namespaceSelector, at least one of them, is required, and not both";

/** Specs that the API server refuses, with a part of its message. */
export const REFUSED_SERVICES: readonly (readonly [what: string, spec: unknown, refusal: string])[] = [
  ["no backend", {}, "spec.backend: Required value"],
  ["an unknown field", { backend: MEMORY, replica: 1 }, 'unknown field "spec.replica"'],
  [
    "replicas and autoscaling",
    { ...redis({}), replicas: 2, autoscaling: { maxReplicas: 3 } },
    "spec.replicas: Forbidden: replicas must be absent when autoscaling is set",
  ],
  [
    "more than the most at the least",
    { ...redis({}), autoscaling: { minReplicas: 4, maxReplicas: 3 } },
    'spec.autoscaling.minReplicas: Invalid value: "object": minReplicas must be at most maxReplicas',
  ],
  [
    "an autoscaler without a request of the processor",
    { ...redis({}), autoscaling: { maxReplicas: 3 }, resources: { requests: { memory: "128Mi" } } },
    "spec.resources: Invalid value",
  ],
  [
    "a share of the processor, next to metrics, without a request of it",
    {
      ...redis({}),
      autoscaling: {
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 60,
        metrics: [{ type: "Pods", pods: {} }],
      },
      resources: {},
    },
    "resources.requests.cpu must be set when autoscaling adds pods by the use of the processor",
  ],
  ["root", memory({ podSecurityContext: { runAsUser: 0 } }), "spec.podSecurityContext.runAsUser"],
  [
    "a budget that admits no eviction",
    memory({ podDisruptionBudget: { maxUnavailable: 0 } }),
    "spec.podDisruptionBudget.maxUnavailable",
  ],
  [
    "the same as a share",
    memory({ podDisruptionBudget: { maxUnavailable: "0%" } }),
    "spec.podDisruptionBudget.maxUnavailable",
  ],
  [
    "an annotation of the operator's on Services",
    memory({ service: { annotations: { "ratelimit.weir.dev/rendered": "x" } } }),
    "annotations that begin with ratelimit.weir.dev/ are set by the operator",
  ],
  [
    "a negative number of pods",
    memory({ replicas: -1 }),
    "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
  ],
  ["two pods with memory", memory({ replicas: 2 }), UNSHARED],
  [
    "two pods with memory that says no",
    { backend: { type: "memory", memory: { allowUnsharedCounters: false } }, replicas: 2 },
    UNSHARED,
  ],
  ["autoscaling with memory", memory({ autoscaling: { maxReplicas: 2 } }), UNSHARED],
  [
    "redis without where",
    { backend: { type: "redis" } },
    'spec.backend.redis: Invalid value: "object": redis is required when type is redis, and must be absent otherwise',
  ],
  [
    "redis under memory",
    { backend: { type: "memory", redis: single } },
    "redis is required when type is redis, and must be absent otherwise",
  ],
  [
    "memory under redis",
    { backend: { type: "redis", redis: single, memory: {} } },
    "memory must be absent unless type is memory",
  ],
  [
    "an unknown backend",
    { backend: { type: "valkey" } },
    'spec.backend.type: Unsupported value: "valkey": supported values: "memory", "redis", "memcached"',
  ],
  [
    "a cluster without nodes",
    redis({ type: "cluster" }),
    "cluster is required when type is cluster, and must be absent otherwise",
  ],
  [
    "an address without a port",
    redis({ single: { address: "redis" } }),
    "spec.backend.redis.single.address: Invalid value",
  ],
  [
    "TLS of the second store alone",
    redis({ perSecond: { ...single, tls: true } }),
    "perSecond.tls needs tls of redis, which has the certificates of both stores",
  ],
  ["a wait without a unit", redis({ commandTimeout: "250" }), "spec.backend.redis.commandTimeout: Invalid value"],
  ["memcached nowhere", memcached({}), ADDRESSES_OR_SRV],
  ["memcached in two ways", memcached({ addresses: ["a:1"], srv: "_m._tcp.a" }), ADDRESSES_OR_SRV],
  [
    "a record without a protocol",
    memcached({ srv: "memcache.example.org" }),
    "spec.backend.memcached.srv: Invalid value",
  ],
  ["lookups of no record", memcached({ addresses: ["a:1"], srvRefresh: "1m" }), "srvRefresh needs srv"],
  [
    "a certificate for plain text",
    memory({ controlPlane: { plaintext: true, certificateSecret: "a" } }),
    "plaintext must be absent or false together with certificateSecret or serverName, which are about TLS",
  ],
  [
    "a server name without an address",
    memory({ controlPlane: { serverName: "a" } }),
    "serverName needs address: the operator knows the name of its own control plane",
  ],
  [
    "tcp for dogstatsd",
    memory({ statistics: { push: { format: "dogstatsd", host: "d", protocol: "tcp" } } }),
    "protocol must be udp or absent with the format dogstatsd",
  ],
  ["a client without a block and without selectors", memory({ networkPolicy: { from: [{}] } }), BLOCK_OR_SELECTORS],
  [
    "a client that is a block and pods",
    memory({ networkPolicy: { from: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }] } }),
    BLOCK_OR_SELECTORS,
  ],
  [
    "a label of the operator",
    memory({ podLabels: { "app.kubernetes.io/name": "mine" } }),
    "labels that begin with app.kubernetes.io/ or ratelimit.weir.dev/ are set by the operator; any other is allowed",
  ],
  [
    "an annotation of the operator",
    memory({ podAnnotations: { "ratelimit.weir.dev/checksum": "0" } }),
    "annotations that begin with ratelimit.weir.dev/ are set by the operator; any other is allowed",
  ],
  [
    "a variable of the operator",
    env({ name: "BACKEND_TYPE", value: "memory" }),
    `spec.env[0].name: Forbidden: ${RESERVED}`,
  ],
  ["a variable of the operator by its other name", env({ name: "REDIS_AUTH_FILE", value: "/a" }), RESERVED],
  [
    "a variable twice",
    env({ name: "LOG_LEVEL", value: "info" }, { name: "LOG_LEVEL", value: "warn" }),
    'spec.env[1]: Duplicate value: map[string]interface {}{"name":"LOG_LEVEL"}',
  ],
  ["a variable without a value", env({ name: "LOG_LEVEL" }), "either value or valueFrom is required, and not both"],
  [
    "a value from two places",
    env({
      name: "LOG_LEVEL",
      valueFrom: { fieldRef: { fieldPath: "a" }, secretKeyRef: { name: "a", key: "b" } },
    }),
    "exactly one of secretKeyRef, configMapKeyRef, fieldRef and resourceFieldRef is required",
  ],
  ["no quantity", memory({ resources: { limits: { cpu: "much" } } }), "spec.resources.limits.cpu: Invalid value"],
  ["a name of a fleet with a slash", memory({ fleet: "a/b" }), "spec.fleet: Invalid value"],
];
