// The writes of the installed operator: none at rest, and what is missing when another leader begins or a kind appears.
import { setTimeout as delay } from "node:timers/promises";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { isWrite } from "@weir/harness/kubernetes/audit-log";
import { POD_MONITOR_DEFINITION } from "@weir/harness/kubernetes/foreign-definitions";
import { SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { startInstalledNode } from "@weir/harness/node/product";
import type { RealNode } from "@weir/harness/node/real-node";

/** How long nothing may be written when nothing changes, in milliseconds: longer than a status is held or its counts wait. */
const REST_MS = 35_000;

/** How long nothing is written before that, in milliseconds: what follows a change is written by then. */
const SETTLED_MS = 5000;

/** Time limit of a test, in milliseconds. */
const TEST_MS = 240_000;

/** A spec with values that the API server writes in another way than they were applied, or leaves out. */
const REWRITTEN_SPEC = {
  statistics: { podMonitor: { labels: { release: "prometheus" }, interval: "15s" } },
  backend: { type: "memory", memory: { allowUnsharedCounters: true } },
  autoscaling: {
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "0.5" } } },
      ...["a", "b"].map((name) => ({
        type: "External",
        external: { metric: { name, selector: {} }, target: { type: "AverageValue", averageValue: "1000m" } },
      })),
    ],
    behavior: { scaleDown: null, scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } },
  },
  resources: { requests: { cpu: "0.009", memory: "256Mi" }, limits: {} },
  nodeSelector: {},
  tolerations: [{ key: "", operator: "Exists", value: "" }],
  affinity: {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
    podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
    podAntiAffinity: {},
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway", matchLabelKeys: [] },
  ],
  imagePullSecrets: [],
  podLabels: {},
  podAnnotations: { empty: "" },
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: {} } }, { podSelector: {} }] },
  env: [
    { name: "CACHE_KEY_PREFIX", value: "" },
    { name: "NODE_MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1024Ki" } } },
  ],
};

describe("the writes of the operator", () => {
  let node: RealNode;

  const json = async (...args: readonly string[]): Promise<Mapping> =>
    JSON.parse(await node.kubectl(["-n", "other", ...args, "--output=json"])) as Mapping;
  const podMonitor = async (): Promise<Mapping> => json("get", "podmonitor", "rest");
  const patch = async (spec: object): Promise<void> => {
    await node.kubectl(["patch", "rls", "rest", "-n", "other", "--type=merge", "-p", JSON.stringify({ spec })]);
  };
  const holder = (): Promise<string> =>
    node.kubectl(["get", "lease", "weir-operator", "-n", SYSTEM_NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"]);
  /** Times of all writes, in milliseconds since the epoch. */
  const writeTimes = (): readonly number[] =>
    node.cluster
      .audit()
      .filter(isWrite)
      .map(({ receivedMs }) => receivedMs);
  /** Objects of the namespace that were written after the first writes. */
  const writesAfter = (count: number): readonly string[] => {
    const writes = node.cluster.audit().filter(isWrite).slice(count);
    const own = writes.filter(({ namespace, resource }) => namespace === "other" && !/status|events/.test(resource));
    return [...new Set(own.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`))].toSorted();
  };

  beforeAll(async () => {
    node = await startInstalledNode();
    await node.kubectl(["create", "namespace", "other"]);
    await node.kubectl(["label", "namespace", "other", "pod-security.kubernetes.io/enforce=restricted"]);
    await eventually("the webhook", async () =>
      node.apply({
        apiVersion: "ratelimit.weir.dev/v1alpha1",
        kind: "RateLimitService",
        metadata: { name: "rest", namespace: "other" },
        spec: REWRITTEN_SPEC,
      }),
    );
    await node.kubectl(["wait", "--for=condition=Ready", "rls", "--all", "-A", "--timeout=100s"]);
  });

  afterAll(async () => {
    await (node as RealNode | undefined)?.stop(); // Not there when it did not start.
  });

  it(
    "are those of the Lease alone when nothing changes, however the API server writes what was applied",
    async () => {
      // Statuses are right by now; events and counts follow them, by three seconds or more on a busy machine.
      await eventually("the last writes of what has changed", () => {
        expect(Date.now() - Math.max(0, ...writeTimes())).toBeGreaterThan(SETTLED_MS);
      });
      const before = node.cluster.audit().length;
      await delay(REST_MS);
      const later = node.cluster.audit().slice(before);
      expect(later.filter(isWrite)).toEqual([]);
      expect(later.some(({ resource, verb }) => resource === "leases" && verb === "update")).toBe(true);
    },
    TEST_MS,
  );

  it(
    "are a PodMonitor alone when another leader begins after the kind was installed",
    async () => {
      await node.cluster.apply(POD_MONITOR_DEFINITION);
      const [leader, before] = [await holder(), writeTimes().length];
      await node.kill((await node.pods("weir-operator")).find(({ name }) => leader.startsWith(name))!);
      await eventually("another leader", async () => expect(await holder()).not.toBe(leader));
      // The list that it reads has less of each object than a watch.
      const monitor = await eventually("the PodMonitor", podMonitor);
      expect(fieldsOf(fieldsOf(monitor["metadata"])["labels"])).toMatchObject({ release: "prometheus" });
      expect(fieldsOf(monitor["spec"])).toEqual({
        selector: { matchLabels: { "app.kubernetes.io/instance": "rest", "app.kubernetes.io/name": "weir-ratelimit" } },
        podMetricsEndpoints: [{ port: "metrics", path: "/metrics", interval: "15s" }],
      });
      await patch({ podLabels: { tier: "edge" } });
      await eventually("the change", () => expect(writesAfter(before)).toContain("patch deployments rest"));
      expect(writesAfter(before)).toEqual(["patch deployments rest", "patch podmonitors rest"]);
    },
    TEST_MS,
  );

  it(
    "are the PodMonitor again when its definition was installed again, until it is switched off",
    async () => {
      await node.kubectl(["delete", "crd", "podmonitors.monitoring.coreos.com"]);
      await patch({ statistics: { podMonitor: { interval: "30s" } } });
      await node.cluster.apply(POD_MONITOR_DEFINITION);
      await eventually("the PodMonitor again", async () => {
        const [endpoint] = mappingsOf(fieldsOf((await podMonitor())["spec"])["podMetricsEndpoints"]);
        expect(endpoint?.["interval"]).toBe("30s");
      });
      await patch({ statistics: { podMonitor: { enabled: false } } });
      await eventually("no PodMonitor", async () => expect((await json("get", "podmonitor"))["items"]).toEqual([]));
      const conditions = mappingsOf(fieldsOf((await json("get", "rls", "rest"))["status"])["conditions"]);
      expect(conditions.find(({ type }) => type === "Degraded")).toMatchObject({
        status: "False",
        reason: "AsExpected",
      });
    },
    TEST_MS,
  );
});
