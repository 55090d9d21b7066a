// Data planes on a real API server with its controllers: they continue without their definition, objects that have lost
// their owner are taken over by the resource of their name, and no other namespace gets a default fleet.
import { silentLog } from "@weir/common/log/log";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { eventually } from "@weir/harness/processes/eventually";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createDataPlaneParts } from "../data-plane-part.ts";
import { followPods } from "./workload-controller.ts";
import { ClusterCaches } from "../reconcile/cluster-caches.ts";
import { ControllerMetricsSet } from "../reconcile/controller-metrics.ts";
import { RATE_LIMIT_SERVICES } from "./objects/owned-kinds.ts";

const TIMES = {
  ...{ backoffInitialMs: 100, backoffMaxMs: 1000, slowMs: 1000 },
  ...{ answerTimeoutMs: 30_000, silenceTimeoutMs: 100_000, slowAfterMs: 20_000 },
};
const KINDS = ["serviceaccount", "service", "networkpolicy", "pdb", "deployment"] as const;
const RATE_LIMIT_SERVICES_DEFINITION = "ratelimitservices.ratelimit.weir.dev";
const [NAMESPACE, OTHER] = ["shop", "other"];

let cluster: KubernetesCluster;
let stopOperator: () => Promise<void> = () => Promise.resolve();

async function startOperator(): Promise<() => Promise<void>> {
  const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
  const client = new ApiClient(access, TIMES, { userAgent: "weir-operator" });
  const common = { log: silentLog(), clock: Date.now, random: Math.random, monotonicMs: () => performance.now() };
  const caches = new ClusterCaches({ ...common, client }, TIMES);
  const services = caches.follow(RATE_LIMIT_SERVICES);
  const pods = followPods(caches, { namespaces: undefined });
  const deps = {
    ...common,
    objects: new ObjectClient(client),
    caches,
    events: { record: () => undefined },
    foreignSecrets: new Set<string>(),
    metrics: new ControllerMetricsSet(new Registry()),
    settings: {
      namespace: "weir-system",
      namespaces: undefined,
      image: "weir:1",
      imagePullSecrets: [],
      monitoring: { labels: {}, interval: undefined, namespaces: [] },
      log: { level: "info", format: "json" } as const,
      controlPlane: { service: "cp", adsService: "cp", adsPort: 18_000, portName: "ads", tls: undefined },
      reconcile: { concurrency: 4, resyncMs: 600_000 },
    },
  };
  const watch = { reports: () => ({ pods: new Map<string, string>(), isComplete: true, of: () => NO_REPORTS }) };
  const parts: readonly Part[] = [
    { name: "client", stop: () => client.close() },
    caches,
    ...createDataPlaneParts(deps, { services, pods, watch }),
  ];
  for (const part of parts) await part.start?.();
  return async () => {
    for (const part of parts.toReversed()) await part.stop?.();
  };
}

const NO_REPORTS = { silent: [], awaited: [], replicas: [], gaps: [] };

beforeAll(async () => {
  cluster = await startKubernetesCluster({ full: true });
  await cluster.createNamespaces(NAMESPACE, OTHER);
  await cluster.installKinds("ratelimitservices");
  stopOperator = await startOperator();
});

afterAll(async () => {
  await stopOperator();
  await cluster.stop();
});

async function get(kind: string, name: string, namespace = NAMESPACE): Promise<Mapping> {
  return JSON.parse(await cluster.run(["get", kind, name, "-n", namespace, "--output=json"])) as Mapping;
}

const metadataOf = (object: Mapping): Mapping => fieldsOf(object["metadata"]);

async function applyService(name: string, namespace = NAMESPACE, fleet?: string): Promise<void> {
  const spec = { backend: { type: "memory" }, fleet };
  const metadata = { name, namespace };
  const service = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", metadata, spec };
  await cluster.apply(JSON.stringify(service));
}

/** UIDs of the objects of a resource, and of its pods. */
async function uidsOf(name: string): Promise<readonly string[]> {
  const objects = await Promise.all(KINDS.map((kind) => get(kind, name)));
  const list = ["get", "pods", "-n", NAMESPACE, "-l", `app.kubernetes.io/instance=${name}`, "--output=json"];
  const pods = mappingsOf(fieldsOf(JSON.parse(await cluster.run(list)))["items"]);
  return [...objects, ...pods].map((each) => String(metadataOf(each)["uid"]));
}

/** A data plane with a pod; resolves with the UIDs of what it consists of. */
async function startDataPlane(name: string): Promise<readonly string[]> {
  await applyService(name);
  await rolledOut(name, NAMESPACE);
  return await uidsOf(name);
}

/** Waits for the pods of a Deployment, which the operator may not have made yet. */
async function rolledOut(name: string, namespace: string): Promise<void> {
  await eventually(`the Deployment ${name}`, async () => await get("deployment", name, namespace));
  await cluster.run(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=100s"]);
}

async function expectOwned(name: string): Promise<void> {
  const { uid } = metadataOf(await get("rls", name));
  for (const kind of KINDS)
    await eventually(`the owner of ${kind} ${name}`, async () => {
      const owners = mappingsOf(metadataOf(await get(kind, name))["ownerReferences"]);
      expect(owners.map((owner) => [owner["uid"], owner["controller"]])).toEqual([[uid, true]]);
    });
}

/** Waits for what keeps the data plane when the API server deletes its resource. */
async function expectKept(name: string): Promise<void> {
  await eventually(`the finalizer of ${name}`, async () =>
    expect(metadataOf(await get("rls", name))["finalizers"]).toEqual(["orphan"]),
  );
}

async function patch(kind: string, name: string, content: object): Promise<void> {
  await cluster.run(["patch", kind, name, "-n", NAMESPACE, "--type=merge", "-p", JSON.stringify(content)]);
}

describe("objects without their owner", () => {
  it("are taken over when they have none", async () => {
    const before = await startDataPlane("orphaned");
    for (const kind of KINDS) await patch(kind, "orphaned", { metadata: { ownerReferences: null } });
    await expectOwned("orphaned");
    expect(await uidsOf("orphaned")).toEqual(before);
  });

  it("are taken over from a resource of the same name that is gone, also when another manager wrote that", async () => {
    const before = await startDataPlane("restored");
    const [owner] = mappingsOf(metadataOf(await get("deployment", "restored"))["ownerReferences"]);
    const gone = { ...owner, uid: "11111111-2222-3333-4444-555555555555" };
    for (const kind of KINDS) await patch(kind, "restored", { metadata: { ownerReferences: [gone] } });
    await expectOwned("restored");
    expect(await uidsOf("restored")).toEqual(before);
  });

  it("continue when their definition is deleted, and are taken over by the resource that is made again", async () => {
    const before = await startDataPlane("defined");
    await expectKept("defined");
    await cluster.run(["delete", "crd", RATE_LIMIT_SERVICES_DEFINITION]);
    expect(await uidsOf("defined")).toEqual(before);
    await cluster.installKinds("ratelimitservices");
    await applyService("defined");
    await expectOwned("defined");
    expect(await uidsOf("defined")).toEqual(before);
  });

  it("continue when kubectl was told to orphan them, and otherwise go with their resource", async () => {
    const before = await startDataPlane("deleted");
    await expectKept("deleted");
    await cluster.run(["delete", "rls", "deleted", "-n", NAMESPACE, "--cascade=orphan"]);
    expect(await uidsOf("deleted")).toEqual(before);
    await applyService("deleted");
    await expectOwned("deleted");
    expect(await uidsOf("deleted")).toEqual(before);
    await expectKept("deleted");
    await cluster.run(["delete", "rls", "deleted", "-n", NAMESPACE]);
    await eventually("the end of what it owned", async () => {
      const list = ["get", KINDS.join(), "-n", NAMESPACE, "-l", "app.kubernetes.io/instance=deleted", "--output=name"];
      expect(await cluster.run(list)).toBe("");
    });
  });
});

describe("data planes", () => {
  it("a default fleet belongs to its namespace, also while its resource is created again", async () => {
    const expectConflict = async (): Promise<void> =>
      await eventually("the conflict", async () => {
        const { conditions } = fieldsOf((await get("rls", "parked", OTHER))["status"]);
        expect(mappingsOf(conditions)).toContainEqual(
          expect.objectContaining({
            type: "Degraded",
            status: "True",
            reason: "FleetConflict",
            message:
              'the fleet "shop.core" belongs to the namespace shop: a RateLimitService in the namespace other may name other.* and names without a dot',
          }),
        );
      });
    await applyService("parked", OTHER, "shop.core");
    await expectConflict();
    await startDataPlane("core");
    await cluster.run(["delete", "rls", "core", "-n", NAMESPACE]);
    await applyService("other", OTHER);
    await rolledOut("other", OTHER);
    await expectConflict();
    const { items } = JSON.parse(await cluster.run(["get", "deployments", "-n", OTHER, "--output=json"])) as Mapping;
    expect(mappingsOf(items).map((each) => metadataOf(each)["name"])).toEqual(["other"]);
    await startDataPlane("core");
  });

  it("a label that another has added to the selector of the Service is removed", async () => {
    await startDataPlane("selected");
    await patch("service", "selected", { spec: { selector: { foreign: "yes" } } });
    await eventually("the repair", async () => {
      const { selector } = fieldsOf((await get("service", "selected"))["spec"]);
      expect(selector).toEqual({
        "app.kubernetes.io/name": "weir-ratelimit",
        "app.kubernetes.io/instance": "selected",
      });
    });
  });
});
