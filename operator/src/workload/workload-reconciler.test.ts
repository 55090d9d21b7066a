// Tests of workload-reconciler.ts: how much is done for a resource of which nothing, or only a pod, has changed.
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { type ApiKind, resourceOf } from "@weir/kubernetes/client/api-resource";
import { type KubernetesObject, readObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, mappingsOf } from "@weir/kubernetes/mapping";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ObjectCache } from "../reconcile/object-cache.ts";
import { OWNED_KIND_NAMES, OWNED_KINDS, type OwnedKindName, RATE_LIMIT_SERVICES } from "./objects/owned-kinds.ts";
import { WorkloadReconciler } from "./workload-reconciler.ts";

const KEY = { namespace: "shop", name: "limits" };
const OPTIONS = {
  image: "weir:1",
  imagePullSecrets: [],
  monitoring: { labels: {}, interval: undefined, namespaces: [] },
  log: { level: "info", format: "json" },
  controlPlane: { address: "ads:18000", isPlaintext: false },
};

describe("WorkloadReconciler", () => {
  let services: ObjectCache;
  let owned: Record<OwnedKindName, ObjectCache>;
  let pods: ObjectCache;
  let writes: string[];
  let versions: number;
  let monotonicMs: number;
  let connected: ReadonlySet<string> | undefined;
  /** The RateLimitService as the API server has it. */
  let stored: () => KubernetesObject | undefined;
  /** Fails the write of the finalizer. */
  let refusal: ApiFailure | undefined;
  let events: string[];
  let reconciler: WorkloadReconciler;

  /** Puts an object into its cache, as a watch does after a write; applied fields replace the earlier ones. */
  function put(cache: ObjectCache, content: Record<string, unknown>, generation: number): KubernetesObject {
    versions += 1;
    const { name = KEY.name } = fieldsOf(content["metadata"]) as { readonly name?: string };
    const before = fieldsOf(cache.get({ ...KEY, name })?.content);
    const metadata = { uid: "u1", ...fieldsOf(content["metadata"]), generation, resourceVersion: `${versions}` };
    const object = readObject({ ...before, ...content, metadata: { ...fieldsOf(before["metadata"]), ...metadata } })!;
    cache.put(object);
    return object;
  }

  function cacheOf({ plural }: ApiKind): ObjectCache {
    const kind = OWNED_KIND_NAMES.find((name) => OWNED_KINDS[name].plural === plural);
    return plural === RATE_LIMIT_SERVICES.plural || kind === undefined ? services : owned[kind];
  }

  function putService(generation: number, spec: object): void {
    const type = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService" };
    put(services, { ...type, metadata: KEY, spec: { backend: { type: "memory" }, ...spec } }, generation);
  }

  async function reconcile(): Promise<readonly string[]> {
    writes = [];
    await reconciler.reconcile(KEY, AbortSignal.timeout(60_000));
    return writes;
  }

  beforeEach(async () => {
    services = new ObjectCache();
    pods = new ObjectCache();
    owned = Object.fromEntries(OWNED_KIND_NAMES.map((name) => [name, new ObjectCache()])) as typeof owned;
    owned.headlessService = owned.service;
    versions = monotonicMs = 0;
    connected = new Set();
    const apply = (kind: ApiKind, object: WrittenObject): Promise<KubernetesObject> => {
      if (refusal !== undefined && object.metadata["finalizers"] !== undefined) return Promise.reject(refusal);
      writes.push(object.kind);
      return Promise.resolve(put(cacheOf(kind), { ...object }, kind === RATE_LIMIT_SERVICES ? 1 : versions));
    };
    const none = (): Promise<undefined> => Promise.resolve(undefined);
    const get = (kind: ApiKind): Promise<KubernetesObject | undefined> =>
      Promise.resolve(kind === RATE_LIMIT_SERVICES ? stored() : undefined);
    stored = () => services.get(KEY);
    refusal = undefined;
    events = [];
    reconciler = new WorkloadReconciler(
      {
        clock: () => 0,
        monotonicMs: () => monotonicMs,
        objects: { apply, get, delete: none, create: none, update: none } as never,
        services,
        owned,
        pods,
        connections: { connectedPods: () => connected },
        foreignSecrets: new Set(),
        events: { record: (_regarding, { reason }) => events.push(reason) },
      },
      OPTIONS,
    );
    putService(1, {});
    await reconcile();
    put(owned.deployment, { status: { observedGeneration: versions } }, versions);
    await reconcile();
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("renders and serialises nothing again while the spec is the same", async () => {
    const stringify = vi.spyOn(JSON, "stringify");
    put(owned.deployment, { status: { observedGeneration: versions, replicas: 1 } }, 1);
    expect(await reconcile()).toEqual(["RateLimitService"]);
    expect(await reconcile()).toEqual([]);
    expect(stringify).not.toHaveBeenCalled();
  });

  it("writes what an edit changes, and what another has changed", async () => {
    putService(2, { replicas: 2 });
    expect(await reconcile()).toContain("Deployment");
    put(owned.service, { spec: {} }, 1);
    expect(await reconcile()).toContain("Service");
  });

  it("writes the objects of another resource of the same name and generation", async () => {
    services.delete(services.get(KEY)!);
    await reconcile();
    for (const cache of Object.values(owned)) for (const object of cache.list()) cache.delete(object);
    putService(1, { replicas: 3 });
    await reconcile();
    expect(fieldsOf(owned.deployment.get(KEY)?.content["spec"])["replicas"]).toBe(3);
  });

  /** The conditions that were written last, such as `True Ready`. */
  function conditions(): Record<string, string> {
    const { conditions } = fieldsOf(services.get(KEY)?.content["status"]);
    return Object.fromEntries(
      mappingsOf(conditions).map(({ type, status, reason }) => [String(type), `${String(status)} ${String(reason)}`]),
    );
  }

  /** The controller of Deployments and a kubelet have done their work. */
  function rollOut(): void {
    const generation = owned.deployment.get(KEY)!.generation!;
    const counts = { replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    const status = {
      observedGeneration: generation,
      ...counts,
      conditions: [{ type: "Available", status: "True" }],
    };
    put(owned.deployment, { status }, generation);
    const labels = { "app.kubernetes.io/name": "weir-ratelimit", "app.kubernetes.io/instance": "limits" };
    const ready = { conditions: [{ type: "Ready", status: "True" }] };
    put(pods, { metadata: { namespace: "shop", name: "p1", labels }, status: ready }, 1);
    connected = new Set(["p1"]);
  }

  it("is not ready from an edit until the Deployment with it is rolled out", async () => {
    rollOut();
    await reconcile();
    expect(conditions()["Ready"]).toBe("True Ready");
    putService(2, { shadowMode: true });
    await reconcile();
    expect(conditions()).toMatchObject({ Ready: "False RollingOut", Available: "True PodsReady" });
    const { observedGeneration } = fieldsOf(services.get(KEY)?.content["status"]);
    expect(observedGeneration).toBe(2);
  });

  it("a new leader says nothing of connections until it can know them", async () => {
    rollOut();
    await reconcile();
    monotonicMs = 100_000;
    connected = undefined;
    reconciler.start();
    expect(await reconcile()).toEqual([]);
    monotonicMs += 10_999;
    expect(await reconcile()).toEqual([]);
    monotonicMs += 1;
    expect(await reconcile()).toEqual(["RateLimitService"]);
    expect(conditions()).toMatchObject({ Ready: "Unknown ControlPlaneSilent", Available: "True PodsReady" });
    // Another term of the same process.
    rollOut();
    await reconcile();
    connected = undefined;
    reconciler.start();
    expect(await reconcile()).toEqual([]);
  });

  it.each([
    { what: "has no owner", owner: undefined, isOwn: true },
    {
      what: "an earlier resource of the same name owns",
      owner: { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", name: "limits" },
      isOwn: true,
    },
    {
      what: "a resource of another name owns",
      owner: { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", name: "other" },
      isOwn: false,
    },
    { what: "another kind owns", owner: { apiVersion: "v1", kind: "ReplicaSet", name: "limits" }, isOwn: false },
  ])("takes over a Deployment with our labels that $what: $isOwn", async ({ owner, isOwn }) => {
    const references = owner === undefined ? [] : [{ ...owner, uid: "gone", controller: true }];
    put(owned.deployment, { metadata: { ownerReferences: references } }, versions);
    expect((await reconcile()).includes("Deployment")).toBe(isOwn);
    const found = fieldsOf(owned.deployment.get(KEY)?.content["metadata"])["ownerReferences"];
    const controllers = mappingsOf(found).filter(({ controller }) => controller === true);
    expect(controllers.map(({ uid }) => uid)).toEqual([isOwn ? "u1" : "gone"]);
    expect(conditions()["Degraded"]).toBe(isOwn ? "False AsExpected" : "True NameTaken");
  });

  it.each<{ what: string; now: (cached: KubernetesObject) => KubernetesObject | undefined }>([
    { what: "is gone", now: () => undefined },
    { what: "is made again", now: (cached) => ({ ...cached, uid: "u2" }) },
    {
      what: "is being deleted",
      now: (cached) => ({ ...cached, content: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } } }),
    },
  ])("does not own again what has lost its owner when the resource $what, whatever the cache says", async ({ now }) => {
    put(owned.deployment, { metadata: { ownerReferences: [] } }, versions);
    stored = () => now(services.get(KEY)!);
    expect(await reconcile()).toEqual([]);
  });

  it("does its work when it may not write the finalizer, and says what this means", async () => {
    put(services, { metadata: { ...KEY, finalizers: [] } }, 1);
    refusal = new ApiFailure(
      "forbidden",
      { verb: "patch", resource: resourceOf(RATE_LIMIT_SERVICES, "shop") },
      "no right",
    );
    expect(await reconciler.reconcile(KEY, AbortSignal.timeout(60_000))).toEqual({ againAfterMs: 2000 });
    expect(events).toEqual(["NotProtected"]);
  });

  it("does not take over an object without our labels", async () => {
    put(owned.deployment, { metadata: { ownerReferences: [], labels: {} } }, versions);
    await reconcile();
    expect(conditions()["Degraded"]).toBe("True NameTaken");
  });
});
