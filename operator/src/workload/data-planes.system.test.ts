// RateLimitServices in a whole cluster: a resource becomes ready pods, what others do to them is repaired
// or kept, and the pods' command and environment run real processes that decide.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { ObjectClient, type WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import {
  RateLimitRequestSchema,
  RateLimitResponse_Code,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { eventually } from "@weir/testing/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/testing/reserve-ports";
import { startRedis } from "@weir/testing/servers/redis";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { EventText } from "../events/event-recorder.ts";
import { ClusterCaches } from "../reconcile/cluster-caches.ts";
import type { Controller } from "../reconcile/controller.ts";
import { ControllerMetricsSet } from "../reconcile/controller-metrics.ts";
import { RATE_LIMIT_SERVICES } from "./owned-kinds.ts";
import { PodProcess, ProgramProcess } from "./pod-process.suite.ts";
import { createWorkloadController } from "./workload-controller.ts";

const TIMEOUTS = { answerTimeoutMs: 20_000, silenceTimeoutMs: 100_000, slowAfterMs: 20_000 };
const PACE = { backoffInitialMs: 50, backoffMaxMs: 1000, slowMs: 20_000 };
const CRDS = ["ratelimitservices", "ratelimitconfigs"].map((name) =>
  readFileSync(join(import.meta.dirname, `../../../crds/crds/${name}.yaml`), "utf8"),
);
const PASSWORD = "secret";
const VALIDITY = { now: new Date(), validDays: 1 } as const;

/** Tells what is applied. */
class WatchedClient extends ObjectClient {
  readonly #told: (name: WrittenObject["metadata"]) => void;

  constructor(client: ApiClient, told: (name: WrittenObject["metadata"]) => void) {
    super(client);
    this.#told = told;
  }

  override async apply(...[kind, object, ...rest]: Parameters<ObjectClient["apply"]>): Promise<KubernetesObject> {
    this.#told(object.metadata);
    return await super.apply(kind, object, ...rest);
  }
}

/** A manifest as JSON, which is YAML too. */
function manifest(
  apiVersion: string,
  kind: string,
  [namespace, name]: readonly [string, string],
  rest: object,
): string {
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, ...rest });
}

function service(namespace: string, name: string, spec: object): string {
  return manifest("ratelimit.weir.dev/v1alpha1", "RateLimitService", [namespace, name], { spec });
}

describe("RateLimitServices in a cluster", () => {
  let cluster: KubernetesCluster;
  let client: ApiClient;
  let caches: ClusterCaches;
  let controller: Controller;
  let controlPlane: ProgramProcess;
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let spec: object;
  const [events, connected] = [[] as (EventText & { name: string })[], new Set<string>()];
  /** Names of what was written in the namespace other, and each look at its resources. */
  const [applied, looks] = [[] as string[], [] as string[]];

  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  const get = async (kind: string, name: string, namespace = "shop"): Promise<Mapping> =>
    JSON.parse(await kubectl("get", kind, name, "-n", namespace, "--output=json")) as Mapping;
  const list = async (kind: string, namespace = "shop"): Promise<readonly Mapping[]> =>
    mappingsOf((JSON.parse(await kubectl("get", kind, "-n", namespace, "--output=json")) as Mapping)["items"]);
  const specOf = (object: Mapping): Mapping => fieldsOf(object["spec"]);
  const conditionsOf = async (name: string, namespace = "shop") => {
    const { conditions } = fieldsOf((await get("rls", name, namespace))["status"]);
    return Object.fromEntries(
      mappingsOf(conditions).map(({ type, status, reason }) => [String(type), `${String(status)} ${String(reason)}`]),
    );
  };
  const replicas = async (): Promise<unknown> => specOf(await get("deployment", "limits"))["replicas"];

  beforeAll(async () => {
    cluster = await startKubernetesCluster({ full: true });
    await cluster.apply(CRDS.join("\n---\n"));
    const namespaces = ["shop", "shop2", "other"].map(
      (name) => `{apiVersion: v1, kind: Namespace, metadata: {name: ${name}}}`,
    );
    await cluster.apply(namespaces.join("\n---\n"));
    await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    redis = await startRedis(cluster.folder, { flags: ["--requirepass", PASSWORD] });
    const [adsPort = 0, httpPort = 0] = await reservePorts(2);
    controlPlane = new ProgramProcess("weir-control-plane", await prepareControlPlane(cluster, { adsPort, httpPort }));
    spec = {
      backend: {
        type: "redis",
        redis: {
          type: "single",
          single: { address: redis.address },
          auth: { passwordSecretRef: { name: "store", key: "pass" } },
        },
      },
      podAnnotations: { team: "limits" },
    };
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
    client = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    const deps = { client, log: silentLog(), clock: Date.now, monotonicMs: () => performance.now(), random: () => 0.5 };
    caches = new ClusterCaches(deps, PACE);
    controller = createWorkloadController(
      {
        ...deps,
        caches,
        services: caches.follow(RATE_LIMIT_SERVICES),
        objects: new WatchedClient(client, ({ namespace, name }) => {
          if (namespace === "other") applied.push(name);
        }),
        metrics: new ControllerMetricsSet(new Registry()),
        events: { record: ({ name }, event) => void events.push({ name, ...event }) },
        connections: {
          connectedPods: (namespace) => {
            if (namespace === "other") looks.push(namespace);
            return connected;
          },
        },
      },
      {
        concurrency: 4,
        resyncMs: 600_000,
        namespaces: undefined,
        workload: { image: "weir:1", controlPlane: { address: `127.0.0.1:${adsPort}`, isPlaintext: false } },
      },
    );
    await caches.start();
    controller.start();
  });

  afterAll(async () => {
    await controller.stop();
    caches.stop();
    await client.close();
    await controlPlane.stop();
    await redis.stop();
    await cluster.stop();
  });

  it("a resource becomes ready pods and the objects around them", async () => {
    await cluster.apply(service("shop", "limits", spec));
    await kubectl("wait", "--for=condition=Available", "rls/limits", "-n", "shop", "--timeout=30s");
    await kubectl("rollout", "status", "deployment/limits", "-n", "shop", "--timeout=30s");
    const kinds = ["deployment", "service", "serviceaccount", "pdb", "networkpolicy"];
    for (const kind of kinds) expect(fieldsOf((await get(kind, "limits"))["metadata"])["name"]).toBe("limits");
    expect(await list("hpa")).toEqual([]);
    await eventually("the columns", async () => {
      const [, row = ""] = (await kubectl("get", "rls", "-n", "shop")).split("\n");
      expect(row.split(/\s+/).slice(0, 5)).toEqual(["limits", "2", "2", "redis", "shop.limits"]);
    });
    expect(await conditionsOf("limits")).toMatchObject({
      Available: "True PodsReady",
      Degraded: "False AsExpected",
      Connected: "False PodsNotConnected",
      Ready: "False PodsNotConnected",
    });
  });

  it("kubectl scale rls scales the pods", async () => {
    await kubectl("scale", "rls", "limits", "-n", "shop", "--replicas=3");
    await eventually("three pods", async () => {
      expect(fieldsOf((await get("rls", "limits"))["status"])).toMatchObject({ replicas: 3, readyReplicas: 3 });
    });
    expect(events).toContainEqual(expect.objectContaining({ reason: "Scaled", note: "from 2 to 3 pods" }));
  });

  it("drift is repaired, and what others have added is kept", async () => {
    await kubectl("annotate", "deployment", "limits", "-n", "shop", "mesh.example/injected=yes");
    await kubectl("rollout", "restart", "deployment/limits", "-n", "shop");
    await kubectl("set", "env", "deployment/limits", "-n", "shop", "CONFIG_TYPE=FILE", "FOREIGN=1");
    await kubectl("delete", "service", "limits", "-n", "shop");
    await eventually("the repair", async () => {
      const template = fieldsOf(specOf(await get("deployment", "limits"))["template"]);
      const [container] = mappingsOf(specOf(template)["containers"]);
      const env = mappingsOf(container?.["env"]);
      expect(env).toContainEqual({ name: "CONFIG_TYPE", value: "GRPC_XDS_SOTW" });
      expect(env).toContainEqual({ name: "FOREIGN", value: "1" });
      expect(fieldsOf(fieldsOf(template["metadata"])["annotations"])).toMatchObject({
        team: "limits",
        "kubectl.kubernetes.io/restartedAt": expect.any(String) as string,
      });
      await get("service", "limits");
    });
    const { annotations } = fieldsOf((await get("deployment", "limits"))["metadata"]);
    expect(annotations).toMatchObject({ "mesh.example/injected": "yes" });
  });

  it("an autoscaler takes the number of pods over, without a moment of fewer", async () => {
    const watched: unknown[] = [];
    await kubectl("patch", "rls", "limits", "-n", "shop", "--type=merge", "-p", autoscaled({ maxReplicas: 6 }));
    await eventually("the autoscaler", async () => {
      watched.push(await replicas());
      expect(specOf(await get("hpa", "limits"))).toMatchObject({ minReplicas: 2, maxReplicas: 6 });
    });
    await kubectl("scale", "deployment", "limits", "-n", "shop", "--replicas=4");
    await kubectl("patch", "rls", "limits", "-n", "shop", "--type=merge", "-p", autoscaled({ maxReplicas: 7 }));
    await eventually("the change", async () => {
      expect(specOf(await get("hpa", "limits"))).toMatchObject({ maxReplicas: 7 });
    });
    expect([new Set(watched), await replicas()]).toEqual([new Set([3]), 4]);
    const patch = JSON.stringify({ spec: { autoscaling: null, replicas: 2 } });
    await kubectl("patch", "rls", "limits", "-n", "shop", "--type=merge", "-p", patch);
    await eventually("a fixed number again", async () => {
      expect([await replicas(), await list("hpa")]).toEqual([2, []]);
    });
  });

  it("a fleet belongs to the oldest resource that names it, and passes on when that goes", async () => {
    const backend = { type: "memory" };
    await cluster.apply(service("shop", "first", { backend, fleet: "gold" }));
    await eventually("the first", async () =>
      expect((await conditionsOf("first"))["Available"]).toBe("True PodsReady"),
    );
    // Of the same second, the first by namespace owns it.
    await cluster.apply(service("shop2", "second", { backend, fleet: "gold" }));
    await eventually("the conflict", async () =>
      expect(await conditionsOf("second", "shop2")).toMatchObject({
        Degraded: "True FleetConflict",
        Available: "False FleetConflict",
        Ready: "False FleetConflict",
      }),
    );
    expect(await list("deployment", "shop2")).toEqual([]);
    expect(events).toContainEqual(expect.objectContaining({ name: "second", reason: "FleetConflict" }));
    await kubectl("delete", "rls", "first", "-n", "shop");
    await eventually("the heir", async () =>
      expect((await conditionsOf("second", "shop2"))["Available"]).toBe("True PodsReady"),
    );
    await eventually("the rest of the first to be deleted", async () =>
      expect((await list("deployment")).map((each) => fieldsOf(each["metadata"])["name"])).toEqual(["limits"]),
    );
  });

  it("the status says what the API server refuses", async () => {
    const backend = { type: "memory" };
    await cluster.apply(service("other", "odd", { backend, podLabels: { "no label": "x" } }));
    await eventually("the condition", async () =>
      expect((await conditionsOf("odd", "other"))["Degraded"]).toBe("True Refused"),
    );
    expect(await kubectl("get", "rls", "odd", "-n", "other", "--output=yaml")).toContain("no label");
    await cluster.apply(service("other", "odd", { backend, podLabels: { label: "x" } }));
    await eventually("the pods", async () =>
      expect((await conditionsOf("odd", "other"))["Available"]).toBe("True PodsReady"),
    );
    await kubectl("delete", "rls", "odd", "-n", "other");
  });

  it("writes nothing at rest, however the API server writes what was applied", async () => {
    await kubectl("label", "namespace", "other", "pod-security.kubernetes.io/enforce=restricted");
    const cpu = { type: "AverageValue", averageValue: "0.5" };
    const external = (name: string) => ({
      type: "External",
      external: { metric: { name, selector: {} }, target: { type: "AverageValue", averageValue: "1000m" } },
    });
    const empty = { preferredDuringSchedulingIgnoredDuringExecution: [] };
    await cluster.apply(
      service("other", "rest", {
        backend: { type: "memory", memory: { allowUnsharedCounters: true } },
        autoscaling: {
          minReplicas: 1,
          maxReplicas: 3,
          metrics: [{ type: "Resource", resource: { name: "cpu", target: cpu } }, external("a"), external("b")],
          behavior: { scaleDown: null, scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } },
        },
        resources: { requests: { cpu: "0.009", memory: "1024Mi" }, limits: {} },
        nodeSelector: {},
        tolerations: [{ key: "", operator: "Exists", value: "" }],
        affinity: { nodeAffinity: empty, podAffinity: empty, podAntiAffinity: {} },
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "ScheduleAnyway",
            matchLabelKeys: [],
          },
        ],
        imagePullSecrets: [],
        podLabels: {},
        podAnnotations: { empty: "" },
        networkPolicy: { from: [{ namespaceSelector: { matchLabels: {} } }, { podSelector: {} }] },
        env: [
          { name: "CACHE_KEY_PREFIX", value: "" },
          { name: "NODE_MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1024Ki" } } },
        ],
      }),
    );
    await eventually("the pods", async () =>
      expect((await conditionsOf("rest", "other"))["Available"]).toBe("True PodsReady"),
    );
    // It is looked at every 2 s, as its pods are not connected.
    await eventually("three looks without a write", async () => {
      const [before, look] = [applied.length, looks.length];
      await eventually("three looks", () => expect(looks.length).toBeGreaterThanOrEqual(look + 3), 20_000);
      expect(applied.slice(before)).toEqual([]);
    });
    await kubectl("delete", "rls", "rest", "-n", "other");
  });

  it("an object of another owner is not touched", async () => {
    const ports = [{ port: 80 }];
    await cluster.apply(manifest("v1", "Service", ["other", "taken"], { spec: { ports, selector: { app: "web" } } }));
    await cluster.apply(service("other", "taken", { backend: { type: "memory" } }));
    await eventually("the condition", async () =>
      expect((await conditionsOf("taken", "other"))["Degraded"]).toBe("True NameTaken"),
    );
    expect(specOf(await get("service", "taken", "other"))["selector"]).toEqual({ app: "web" });
    await kubectl("delete", "service", "taken", "-n", "other");
    await eventually("the pods", async () =>
      expect((await conditionsOf("taken", "other"))["Available"]).toBe("True PodsReady"),
    );
  });

  it("the pods' command and environment run processes that connect over mutual TLS and decide", async () => {
    await cluster.apply(
      manifest("ratelimit.weir.dev/v1alpha1", "RateLimitConfig", ["shop", "login"], {
        spec: {
          domain: "login",
          fleets: ["shop.limits"],
          descriptors: [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 3 } }],
        },
      }),
    );
    await kubectl("rollout", "status", "deployment/limits", "-n", "shop", "--timeout=30s");
    const selector = String(fieldsOf((await get("rls", "limits"))["status"])["selector"]);
    const pods = await eventually("two pods", async () => {
      const { items } = JSON.parse(
        await kubectl("get", "pods", "-n", "shop", "-l", selector, "--output=json"),
      ) as Mapping;
      expect(mappingsOf(items)).toHaveLength(2);
      return mappingsOf(items);
    });
    const processes = await Promise.all(pods.map((pod) => PodProcess.start(cluster, pod)));
    try {
      const ports = await Promise.all(processes.map((each) => each.find(/gRPC on 127\.0\.0\.1:(\d+)/)));
      const codes: RateLimitResponse_Code[] = [];
      for (let call = 0; call < 4; call++) codes.push(await ask(Number(ports[call % 2])));
      const { OK, OVER_LIMIT } = RateLimitResponse_Code;
      expect(codes).toEqual([OK, OK, OK, OVER_LIMIT]); // Three between both: they share the store.
      for (const pod of pods) connected.add(String(fieldsOf(pod["metadata"])["name"]));
      await kubectl("wait", "--for=condition=Ready", "rls/limits", "-n", "shop", "--timeout=30s");
    } finally {
      await Promise.all(processes.map((each) => each.stop()));
    }
  });

  it("what belongs to a deleted resource is deleted with it", async () => {
    await kubectl("delete", "rls", "limits", "-n", "shop");
    await eventually("nothing to be left", async () => {
      const left = await list("deployment,service,serviceaccount,pdb,networkpolicy,pods");
      expect(left.map((each) => fieldsOf(each["metadata"])["name"])).toEqual(["default"]);
    });
  });
});

function autoscaled(autoscaling: object): string {
  return JSON.stringify({ spec: { replicas: null, autoscaling } });
}

async function ask(port: number): Promise<RateLimitResponse_Code> {
  const limits = createClient(RateLimitService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  const descriptors = [{ entries: [{ key: "user", value: "ann" }] }];
  const { overallCode } = await limits.shouldRateLimit(
    create(RateLimitRequestSchema, { domain: "login", descriptors }),
  );
  return overallCode;
}

/**
 * Writes the certificates of the control plane, and the Secrets of the pods; the environment of a control
 * plane that takes the fleet from a pod's certificate.
 */
async function prepareControlPlane(
  cluster: KubernetesCluster,
  { adsPort, httpPort }: { readonly adsPort: number; readonly httpPort: number },
): Promise<Record<string, string>> {
  const authority = await createAuthority({ commonName: "weir", ...VALIDITY });
  const server = await authority.issue({
    commonName: "weir-control-plane",
    ipAddresses: ["127.0.0.1"],
    usage: "server",
    ...VALIDITY,
  });
  const uris = ["spiffe://cluster.local/ns/shop/fleet/shop.limits"];
  const pod = await authority.issue({ commonName: "limits", uris, usage: "client", ...VALIDITY });
  const path = (name: string): string => join(cluster.folder, name);
  writeFileSync(path("ads-ca.crt"), authority.certPem);
  writeFileSync(path("ads.crt"), server.certPem);
  writeFileSync(path("ads.key"), server.keyPem);
  const pair = { "limits.crt": pod.certPem, "limits.key": pod.keyPem, "ca.crt": authority.certPem };
  await cluster.apply(manifest("v1", "Secret", ["shop", "weir-ratelimit-tls"], { stringData: pair }));
  await cluster.apply(manifest("v1", "Secret", ["shop", "store"], { stringData: { pass: PASSWORD } }));
  return {
    SOURCE: "kubernetes",
    KUBECONFIG: cluster.kubeconfigPath,
    ADS_HOST: "127.0.0.1",
    ADS_PORT: String(adsPort),
    ADS_TLS_CERT: path("ads.crt"),
    ADS_TLS_KEY: path("ads.key"),
    ADS_TLS_CLIENT_CACERT: path("ads-ca.crt"),
    ADS_FLEET_FROM_CERTIFICATE: "true",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(httpPort),
  };
}
