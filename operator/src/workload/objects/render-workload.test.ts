import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";
import { DATA_PLANE_SETTINGS } from "@weir/crds/rate-limit-service/settings/data-plane-settings";
import { spellingsOf } from "@weir/crds/rate-limit-service/settings/reserved-settings";
import { describe, expect, it } from "vitest";

import { environmentOf } from "./environment.ts";
import { mountsOf } from "./mounts.ts";
import type { OwnedKindName } from "./owned-kinds.ts";
import { renderWorkload } from "./render-workload.ts";
import { type Workload, workloadOf } from "./workload.ts";

const MEMORY: RateLimitServiceSpec = { backend: { type: "memory" } };

/** Everything that a resource can say, where there is a setting for it. */
const FULL: RateLimitServiceSpec = {
  replicas: 3,
  backend: {
    type: "redis",
    redis: {
      type: "sentinel",
      sentinel: {
        primary: "main",
        addresses: ["s1:26379", "s2:26379"],
        auth: { passwordSecretRef: { name: "sentinels", key: "word" } },
      },
      auth: { passwordSecretRef: { name: "store", key: "pass" } },
      poolSize: 4,
      connectTimeout: "2s",
      commandTimeout: "300ms",
      tls: {
        caSecretRef: { name: "store-ca", key: "ca" },
        clientCertificateSecret: "store-client",
        skipHostnameVerification: true,
      },
      perSecond: {
        type: "single",
        single: { address: "fast:6379", database: 2 },
        auth: { passwordSecretRef: { name: "fast", key: "pass" } },
        tls: false,
      },
    },
  },
  controlPlane: { address: "ads.example:18000", serverName: "ads", certificateSecret: "own" },
  tls: {
    certificateSecret: "grpc",
    clientCertificates: { caSecretRef: { name: "clients", key: "ca.pem" }, subjectAlternativeName: "gateway" },
  },
  failureMode: "deny",
  shadowMode: true,
  responseHeaders: { limit: "x-limit", remaining: "x-remaining", reset: "x-reset", rule: "x-rule" },
  statistics: {
    tags: { team: "shop", zone: "a" },
    maxDynamicKeys: 10,
    push: { format: "statsd", host: "statsd", port: 8126, protocol: "udp", interval: "5s" },
  },
  tracing: { endpoint: "http://collector:4318", protocol: "grpc", samplingPercent: 25 },
  env: [{ name: "LOG_LEVEL", value: "debug" }],
};

function workload(spec: RateLimitServiceSpec, name = "limits"): Workload {
  const options = {
    image: "weir:1",
    imagePullSecrets: ["mirror"],
    monitoring: { labels: { release: "prometheus", team: "none" }, interval: "30s", namespaces: ["metrics"] },
    log: { level: "info", format: "json" },
    controlPlane: { address: "cp:18000", isPlaintext: false },
  };
  return workloadOf({ metadata: { name, namespace: "shop" }, spec }, "uid-1", options);
}

function environment(spec: RateLimitServiceSpec): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    environmentOf(workload(spec)).map(({ name, value, valueFrom }) => [name, value ?? valueFrom]),
  );
}

function rendered(kind: OwnedKindName, spec: RateLimitServiceSpec) {
  return renderWorkload(workload(spec)).find((each) => each.kind === kind)?.object;
}

describe("environmentOf()", () => {
  it.each([
    { what: "the least", spec: MEMORY },
    { what: "everything", spec: FULL },
    {
      what: "a cluster",
      spec: { backend: { type: "redis", redis: { type: "cluster", cluster: { addresses: ["a:1", "b:2"] } } } },
    },
    {
      what: "memcached",
      spec: { backend: { type: "memcached", memcached: { srv: "_m._tcp.example", srvRefresh: "5s", tls: {} } } },
    },
    { what: "DogStatsD", spec: { ...MEMORY, statistics: { push: { format: "dogstatsd", host: "dd" } } } },
  ] as { what: string; spec: RateLimitServiceSpec }[])(
    "sets each setting of the data plane once, and no other, with $what",
    ({ spec }) => {
      const names = environmentOf(workload(spec)).map(({ name }) => name);
      const known = new Set([
        ...DATA_PLANE_SETTINGS.flatMap((setting) => spellingsOf(setting)),
        "OTEL_EXPORTER_OTLP_ENDPOINT",
      ]);
      expect(names.filter((name) => !known.has(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    },
  );

  it("knows each field", () => {
    expect(environment(FULL)).toEqual({
      PORT: "8080",
      GRPC_PORT: "8081",
      DEBUG_PORT: "6070",
      GRPC_MAX_CONNECTION_AGE: "5m",
      SHUTDOWN_DRAIN: "5s",
      SHUTDOWN_GRACE: "10s",
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: "/etc/weir/grpc-tls/tls.crt",
      GRPC_SERVER_TLS_KEY: "/etc/weir/grpc-tls/tls.key",
      GRPC_CLIENT_TLS_CACERT: "/etc/weir/grpc-client-ca/ca.crt",
      GRPC_CLIENT_TLS_SAN: "gateway",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_DELTA: "true",
      CONFIG_GRPC_XDS_NODE_ID: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } },
      CONFIG_GRPC_XDS_NODE_METADATA: "namespace=shop,pod=$(CONFIG_GRPC_XDS_NODE_ID),fleet=shop.limits",
      CONFIG_GRPC_XDS_SERVER_URL: "ads.example:18000",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/etc/weir/tls/tls.crt",
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "/etc/weir/tls/tls.key",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "/etc/weir/tls/ca.crt",
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: "ads",
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "1s",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "1s",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "5s",
      BACKEND_TYPE: "kvstore",
      KVSTORE_TYPE: "sentinel",
      KVSTORE_SOCKET_TYPE: "tcp",
      KVSTORE_URL: "main,s1:26379,s2:26379",
      KVSTORE_AUTH_FILE: "/etc/weir/store-auth/password",
      KVSTORE_SENTINEL_AUTH_FILE: "/etc/weir/sentinel-auth/password",
      KVSTORE_POOL_SIZE: "4",
      KVSTORE_TIMEOUT: "2s",
      KVSTORE_TLS: "true",
      KVSTORE_COMMAND_TIMEOUT: "300ms",
      KVSTORE_TLS_CACERT: "/etc/weir/store-ca/ca.crt",
      KVSTORE_TLS_CLIENT_CERT: "/etc/weir/store-tls/tls.crt",
      KVSTORE_TLS_CLIENT_KEY: "/etc/weir/store-tls/tls.key",
      KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: "true",
      KVSTORE_PERSECOND: "true",
      KVSTORE_PERSECOND_TYPE: "single",
      KVSTORE_PERSECOND_SOCKET_TYPE: "tcp",
      KVSTORE_PERSECOND_URL: "redis://fast:6379/2",
      KVSTORE_PERSECOND_AUTH_FILE: "/etc/weir/per-second-auth/password",
      KVSTORE_PERSECOND_TLS: "false",
      BACKEND_FAILURE_MODE: "deny",
      SHADOW_MODE: "true",
      LIMIT_RESPONSE_HEADERS_ENABLED: "true",
      LIMIT_LIMIT_HEADER: "x-limit",
      LIMIT_REMAINING_HEADER: "x-remaining",
      LIMIT_RESET_HEADER: "x-reset",
      LIMIT_RULE_HEADER: "x-rule",
      USE_PULLSTATS: "true",
      PULLSTATS_ADDR: ":9090",
      STATS_MAX_DYNAMIC_KEYS: "10",
      EXTRA_TAGS: "team:shop,zone:a",
      USE_PUSHSTATS: "true",
      USE_TAGGED_STATS: "false",
      PUSHSTATS_HOST: "statsd",
      PUSHSTATS_PORT: "8126",
      PUSHSTATS_PROTOCOL: "udp",
      STATS_FLUSH_INTERVAL: "5s",
      TRACING_ENABLED: "true",
      TRACING_EXPORTER_PROTOCOL: "grpc",
      TRACING_SAMPLING_RATE: "0.25",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      LOG_LEVEL: "debug",
      LOG_FORMAT: "json",
    });
  });

  it("logs as the operator does, unless the resource says otherwise", () => {
    expect(environment(MEMORY)).toMatchObject({ LOG_LEVEL: "info", LOG_FORMAT: "json" });
    const env = [{ name: "LOG_FORMAT", value: "text" }];
    expect(environment({ ...MEMORY, env })).toMatchObject({ LOG_LEVEL: "info", LOG_FORMAT: "text" });
  });

  it("leaves the age of connections to a resource that says it", () => {
    const env = [{ name: "GRPC_MAX_CONNECTION_AGE", value: "1h" }];
    expect(environment({ ...MEMORY, env })["GRPC_MAX_CONNECTION_AGE"]).toBe("1h");
  });

  it("takes no reference to another variable from a value", () => {
    const spec: RateLimitServiceSpec = { ...MEMORY, statistics: { tags: { team: "$(PATH)" } } };
    expect(environment(spec)["EXTRA_TAGS"]).toBe("team:$$(PATH)");
  });
});

describe("mountsOf()", () => {
  it("mounts the files that the environment names, and no other", () => {
    for (const spec of [MEMORY, FULL]) {
      const files = mountsOf(workload(spec)).flatMap(({ name, keys }) =>
        Object.keys(keys).map((file) => `/etc/weir/${name}/${file}`),
      );
      const named = Object.values(environment(spec)).filter((value) => String(value).startsWith("/etc/weir/"));
      expect(files.toSorted()).toEqual(named.toSorted());
    }
  });

  it("takes the pair of the resource from the Secret of its namespace", () => {
    expect(mountsOf(workload(MEMORY))).toEqual([
      {
        name: "tls",
        secretName: "weir-ratelimit-tls",
        keys: { "tls.crt": "limits.crt", "tls.key": "limits.key", "ca.crt": "ca.crt" },
      },
    ]);
    expect(mountsOf(workload({ ...MEMORY, controlPlane: { plaintext: true } }))).toEqual([]);
  });
});

describe("renderWorkload()", () => {
  it.each([
    { what: "the default of memory", spec: MEMORY, replicas: 1 },
    { what: "the default of a shared store", spec: { ...FULL, replicas: undefined }, replicas: 2 },
    { what: "a number", spec: FULL, replicas: 3 },
    { what: "none", spec: { ...FULL, replicas: 0 }, replicas: 0 },
    {
      what: "an autoscaler",
      spec: { ...FULL, replicas: undefined, autoscaling: { maxReplicas: 9 } },
      replicas: undefined,
    },
  ])("sets the replicas of the Deployment for $what", ({ spec, replicas }) => {
    expect((rendered("deployment", spec)?.["spec"] as { replicas?: number }).replicas).toBe(replicas);
  });

  it.each([
    { what: "nothing", autoscaling: { maxReplicas: 9 }, min: 2, percent: 70, metrics: 1 },
    { what: "one pod at most", autoscaling: { maxReplicas: 1 }, min: 1, percent: 70, metrics: 1 },
    {
      what: "a percentage",
      autoscaling: { minReplicas: 4, maxReplicas: 9, targetCPUUtilizationPercentage: 50 },
      min: 4,
      percent: 50,
      metrics: 1,
    },
    {
      what: "metrics",
      autoscaling: { maxReplicas: 9, metrics: [{ type: "Pods" as const, pods: {} }] },
      min: 2,
      percent: undefined,
      metrics: 1,
    },
  ])("makes an autoscaler that is given $what", ({ autoscaling, min, percent, metrics }) => {
    const spec = rendered("autoscaler", { ...FULL, replicas: undefined, autoscaling })?.["spec"] as {
      minReplicas: number;
      metrics: { resource?: { target: { averageUtilization: number } } }[];
    };
    expect([spec.minReplicas, spec.metrics.length, spec.metrics[0]?.resource?.target.averageUtilization]).toEqual([
      min,
      metrics,
      percent,
    ]);
  });

  it("does not make what the resource does not want", () => {
    const spec: RateLimitServiceSpec = {
      ...MEMORY,
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      statistics: { podMonitor: { enabled: false } },
    };
    for (const kind of ["autoscaler", "disruptionBudget", "networkPolicy", "podMonitor"] as const)
      expect(rendered(kind, spec)).toBeUndefined();
  });

  it.each([
    { what: "everyone", networkPolicy: undefined, grpc: [{ ports: [{ port: "grpc", protocol: "TCP" }] }] },
    { what: "no client", networkPolicy: { from: [] }, grpc: [] },
    {
      what: "some",
      networkPolicy: { from: [{ podSelector: {} }] },
      grpc: [{ from: [{ podSelector: {} }], ports: [{ port: "grpc", protocol: "TCP" }] }],
    },
  ])("lets $what connect to the gRPC port", ({ networkPolicy, grpc }) => {
    const monitoring = { monitoringNamespaces: ["prometheus"] };
    const spec = rendered("networkPolicy", { ...MEMORY, networkPolicy: { ...networkPolicy, ...monitoring } })?.["spec"];
    expect((spec as { ingress: object[] }).ingress).toEqual([
      ...grpc,
      { from: [{ podSelector: {} }], ports: ["http", "debug", "metrics"].map((port) => ({ port, protocol: "TCP" })) },
      {
        from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "prometheus" } } }],
        ports: ["debug", "metrics"].map((port) => ({ port, protocol: "TCP" })),
      },
    ]);
  });

  it.each([
    { what: "the operator's", networkPolicy: {}, names: ["metrics"] },
    { what: "its own", networkPolicy: { monitoringNamespaces: ["prometheus"] }, names: ["prometheus"] },
    { what: "no", networkPolicy: { monitoringNamespaces: [] }, names: [] },
  ])("lets $what namespaces read metrics", ({ networkPolicy, names }) => {
    const spec = rendered("networkPolicy", { ...MEMORY, networkPolicy })?.["spec"] as { ingress: { from?: unknown }[] };
    const from = names.map((name) => ({ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } } }));
    expect(spec.ingress.slice(2).map((rule) => rule.from)).toEqual(names.length === 0 ? [] : [from]);
  });

  it.each([
    { podMonitor: undefined, interval: "30s", team: "none" },
    { podMonitor: { interval: "10s", labels: { team: "shop" } }, interval: "10s", team: "shop" },
  ])("gives the PodMonitor what the operator and $podMonitor say", ({ podMonitor, interval, team }) => {
    const monitor = rendered("podMonitor", { ...MEMORY, statistics: { podMonitor } });
    expect(monitor?.metadata["labels"]).toMatchObject({ release: "prometheus", team });
    expect(monitor?.["spec"]).toMatchObject({ podMetricsEndpoints: [{ port: "metrics", path: "/metrics", interval }] });
  });

  it("makes a Service with one address, and one with those of the pods", () => {
    const [service, headless] = (["service", "headlessService"] as const).map((kind) => rendered(kind, MEMORY));
    expect([service?.metadata.name, headless?.metadata.name]).toEqual(["limits", "limits-headless"]);
    expect(headless?.["spec"]).toEqual({ ...(service?.["spec"] as object), clusterIP: "None" });
  });

  it("gives both Services the annotations of the resource, next to the operator's", () => {
    const service = { annotations: { "example.com/scheme": "internal" } };
    for (const kind of ["service", "headlessService"] as const)
      expect(rendered(kind, { ...MEMORY, service })?.metadata["annotations"]).toEqual({
        "example.com/scheme": "internal",
        "ratelimit.weir.dev/rendered": expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
      });
  });

  it.each([
    { podDisruptionBudget: undefined, maxUnavailable: 1 },
    { podDisruptionBudget: { maxUnavailable: "25%" }, maxUnavailable: "25%" },
  ])("lets $maxUnavailable of the pods be evicted", ({ podDisruptionBudget, maxUnavailable }) => {
    expect(rendered("disruptionBudget", { ...MEMORY, podDisruptionBudget })?.["spec"]).toMatchObject({
      maxUnavailable,
    });
  });

  it.each([
    {
      what: "nothing",
      podSecurityContext: undefined,
      wanted: { runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532 },
    },
    { what: "to leave that to the cluster", podSecurityContext: {}, wanted: {} },
    { what: "a user", podSecurityContext: { runAsUser: 1001 }, wanted: { runAsUser: 1001 } },
  ])("runs pods as a user without rights when the resource says $what", ({ podSecurityContext, wanted }) => {
    const { template } = rendered("deployment", { ...MEMORY, podSecurityContext })?.["spec"] as {
      template: { spec: { securityContext: unknown } };
    };
    expect(template.spec.securityContext).toEqual({
      ...wanted,
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
  });

  it("says that the Service speaks h2c only without TLS", () => {
    const portOf = (spec: RateLimitServiceSpec) =>
      (rendered("service", spec)?.["spec"] as { ports: object[] }).ports[0];
    expect(portOf(MEMORY)).toHaveProperty("appProtocol", "kubernetes.io/h2c");
    expect(portOf(FULL)).not.toHaveProperty("appProtocol");
  });

  it.each([
    {
      what: "none",
      resources: undefined,
      wanted: { requests: { cpu: "250m", memory: "256Mi" }, limits: { memory: "256Mi" } },
    },
    { what: "its own", resources: { requests: { cpu: "2" } }, wanted: { requests: { cpu: "2" } } },
  ])("reserves processor and memory for pods of a resource that says $what", ({ resources, wanted }) => {
    const { template } = rendered("deployment", { ...MEMORY, resources })?.["spec"] as {
      template: { spec: { containers: { resources: unknown }[] } };
    };
    expect(template.spec.containers[0]?.resources).toEqual(wanted);
  });

  it.each([
    { what: "none", imagePullSecrets: undefined, wanted: [{ name: "mirror" }] },
    { what: "its own", imagePullSecrets: [{ name: "own" }], wanted: [{ name: "own" }] },
    { what: "an empty list", imagePullSecrets: [], wanted: [] },
  ])("pulls the image with the operator's Secrets for a resource with $what", ({ imagePullSecrets, wanted }) => {
    const { template } = rendered("deployment", { ...MEMORY, imagePullSecrets })?.["spec"] as {
      template: { spec: { imagePullSecrets: unknown } };
    };
    expect(template.spec.imagePullSecrets).toEqual(wanted);
  });

  it("gives pods more time to end than they need, and no right", () => {
    const { template } = rendered("deployment", MEMORY)?.["spec"] as { template: { spec: object } };
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 35, // 5 s of preStop, 5 s of drain, twice 10 s of grace, and 5 s.
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          image: "weir:1",
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
    });
  });

  it("lets Kubernetes say within a minute that a rollout is stuck, and in which words a container ended", () => {
    expect(rendered("deployment", MEMORY)?.["spec"]).toMatchObject({
      progressDeadlineSeconds: 60,
      template: { spec: { containers: [{ terminationMessagePolicy: "FallbackToLogsOnError" }] } },
    });
  });

  it("changes the pods with what is rendered, and not with the number of pods", () => {
    const podsOf = (spec: RateLimitServiceSpec) =>
      (rendered("deployment", spec)?.["spec"] as { template: unknown }).template;
    expect(podsOf({ ...FULL, replicas: 5 })).toEqual(podsOf(FULL));
    expect(podsOf({ ...FULL, shadowMode: false })).not.toEqual(podsOf(FULL));
  });
});
