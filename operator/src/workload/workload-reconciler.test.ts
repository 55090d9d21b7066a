// Tests of workload-reconciler.ts: how much is done for a resource of which nothing, or only a pod, has changed.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import { type KubernetesObject, readObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ObjectCache } from "../reconcile/object-cache.ts";
import { OWNED_KIND_NAMES, OWNED_KINDS, type OwnedKindName, RATE_LIMIT_SERVICES } from "./objects/owned-kinds.ts";
import { WorkloadReconciler } from "./workload-reconciler.ts";

const KEY = { namespace: "shop", name: "limits" };
const OPTIONS = { image: "weir:1", controlPlane: { address: "ads:18000", isPlaintext: false } };

describe("WorkloadReconciler", () => {
  let services: ObjectCache;
  let owned: Record<OwnedKindName, ObjectCache>;
  let pods: ObjectCache;
  let writes: string[];
  let versions: number;
  let reconciler: WorkloadReconciler;

  /** Puts an object into its cache, as a watch does after a write; applied fields replace the earlier ones. */
  function put(cache: ObjectCache, content: Record<string, unknown>, generation: number): KubernetesObject {
    versions += 1;
    const before = fieldsOf(cache.get(KEY)?.content);
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
    versions = 0;
    const apply = (kind: ApiKind, object: WrittenObject): Promise<KubernetesObject> => {
      writes.push(object.kind);
      return Promise.resolve(put(cacheOf(kind), { ...object }, kind === RATE_LIMIT_SERVICES ? 1 : versions));
    };
    const none = (): Promise<undefined> => Promise.resolve(undefined);
    reconciler = new WorkloadReconciler(
      {
        clock: () => 0,
        objects: { apply, get: none, delete: none, create: none, update: none } as never,
        services,
        owned,
        pods,
        connections: { connectedPods: () => new Set() },
        events: { record: () => undefined },
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
});
