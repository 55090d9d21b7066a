// RateLimitServices in a whole cluster (docs/operator-data-planes.md): a resource becomes ready pods, changes of
// others are repaired or kept, and the pods' command and environment run real processes that decide.
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import {
  RateLimitRequestSchema,
  RateLimitResponse_Code,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { eventually } from "@weir/harness/processes/eventually";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { DataPlaneCluster, manifest, service } from "./data-plane-cluster.suite.ts";
import { PodProcess } from "./pod-process.suite.ts";
import { POD_MONITOR_DEFINITION } from "./pod-monitor-definition.suite.ts";

describe("RateLimitServices in a cluster", () => {
  let fixture: DataPlaneCluster;
  let cluster: KubernetesCluster;

  const kubectl = async (...args: readonly string[]): Promise<string> => await fixture.kubectl(...args);
  const get = async (...args: Parameters<DataPlaneCluster["get"]>) => await fixture.get(...args);
  const list = async (...args: Parameters<DataPlaneCluster["list"]>) => await fixture.list(...args);
  const conditionsOf = async (...args: Parameters<DataPlaneCluster["conditionsOf"]>) =>
    await fixture.conditionsOf(...args);
  const specOf = (object: Mapping): Mapping => fieldsOf(object["spec"]);
  const replicas = async (): Promise<unknown> => specOf(await get("deployment", "limits"))["replicas"];

  beforeAll(async () => {
    fixture = await DataPlaneCluster.start();
    cluster = fixture.cluster;
  });

  afterAll(async () => {
    await fixture.stop();
  });

  it("a resource becomes ready pods and the objects around them", async () => {
    await cluster.apply(service("shop", "limits", fixture.spec));
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
    expect(fixture.events).toContainEqual(expect.objectContaining({ reason: "Scaled", note: "from 2 to 3 pods" }));
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
    expect(fixture.events).toContainEqual(expect.objectContaining({ name: "second", reason: "FleetConflict" }));
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
      const [before, look] = [fixture.applied.length, fixture.looks.length];
      await eventually("three looks", () => expect(fixture.looks.length).toBeGreaterThanOrEqual(look + 3), 20_000);
      expect(fixture.applied.slice(before)).toEqual([]);
    });
    // A list of the API server has less of each object than a watch.
    const [before, look] = [fixture.applied.length, fixture.looks.length];
    await fixture.replaceController();
    await eventually("two looks of another controller", () =>
      expect(fixture.looks.length).toBeGreaterThanOrEqual(look + 2),
    );
    expect(fixture.applied.slice(before)).toEqual([]);
    await kubectl("delete", "rls", "rest", "-n", "other");
  });

  it("a PodMonitor exists while the cluster knows the kind", async () => {
    const statistics = { podMonitor: { labels: { release: "prometheus" }, interval: "15s" } };
    await cluster.apply(service("other", "seen", { backend: { type: "memory" }, statistics }));
    await eventually("the pods without the kind", async () =>
      expect((await conditionsOf("seen", "other"))["Available"]).toBe("True PodsReady"),
    );
    await cluster.apply(POD_MONITOR_DEFINITION);
    await eventually("the PodMonitor", async () => {
      const monitor = await get("podmonitor", "seen", "other");
      expect(fieldsOf(monitor["metadata"])["labels"]).toMatchObject({ release: "prometheus" });
      expect(specOf(monitor)).toEqual({
        selector: { matchLabels: { "app.kubernetes.io/instance": "seen", "app.kubernetes.io/name": "weir-ratelimit" } },
        podMetricsEndpoints: [{ port: "metrics", path: "/metrics", interval: "15s" }],
      });
    });
    await cluster.kubectl(["delete", "crd", "podmonitors.monitoring.coreos.com"]);
    const patch = JSON.stringify({ spec: { statistics: { podMonitor: { interval: "30s" } } } });
    await kubectl("patch", "rls", "seen", "-n", "other", "--type=merge", "-p", patch);
    await cluster.apply(POD_MONITOR_DEFINITION);
    await eventually("the PodMonitor again", async () => {
      const [endpoint] = mappingsOf(specOf(await get("podmonitor", "seen", "other"))["podMetricsEndpoints"]);
      expect(endpoint?.["interval"]).toBe("30s");
    });
    const off = JSON.stringify({ spec: { statistics: { podMonitor: { enabled: false } } } });
    await kubectl("patch", "rls", "seen", "-n", "other", "--type=merge", "-p", off);
    await eventually("the PodMonitor to be gone", async () => expect(await list("podmonitor", "other")).toEqual([]));
    expect((await conditionsOf("seen", "other"))["Degraded"]).toBe("False AsExpected");
    await kubectl("delete", "rls", "seen", "-n", "other");
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
          descriptors: [{ key: "user", rateLimit: { unit: "year", requestsPerUnit: 3 } }],
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
      for (const pod of pods) fixture.connected.add(String(fieldsOf(pod["metadata"])["name"]));
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
