// Revisions on a real API server: what is kept, when, and what is left for the garbage collector.
import { silentLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { type ApiKind, resourceOf } from "@weir/kubernetes/client/api-resource";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { ObjectCache } from "../reconcile/object-cache.ts";
import { configOfRevision, RevisionReconciler, REVISIONS } from "./revision-reconciler.ts";

const CONFIGS: ApiKind = { ...REVISIONS, plural: "ratelimitconfigs" };
const SIGNAL = new AbortController().signal;
const KEY = { namespace: "default", name: "shop" };
const TIMES = { answerTimeoutMs: 30_000, silenceTimeoutMs: 100_000, slowAfterMs: 5000 };

let cluster: KubernetesCluster;
let client: ApiClient;
/** By name, whether every pod has loaded the present generation. */
let isLoaded: boolean;
let reconciler: RevisionReconciler;
const writes: string[] = [];
const configs = new ObjectCache();
const revisions = new ObjectCache();

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs", "ratelimitconfigrevisions");
  const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
  client = new ApiClient(access, TIMES, { userAgent: "test", slow: () => undefined });
  const objects = new ObjectClient(client);
  reconciler = new RevisionReconciler({
    log: silentLog(),
    objects: {
      apply: async (...args) => {
        writes.push(`apply ${args[1].metadata.name}`);
        return await objects.apply(...args);
      },
      delete: async (...args) => {
        writes.push(`delete ${args[1].name}`);
        return await objects.delete(...args);
      },
    },
    configs,
    revisions,
    loaded: {
      loadedGeneration: ({ namespace, name }) => (isLoaded ? configs.get({ namespace, name })?.generation : undefined),
    },
  });
});

afterAll(async () => {
  await client.close();
  await cluster.stop();
});

beforeEach(async () => {
  isLoaded = true;
  await cluster.kubectl(["delete", "rlc,rlcr", "--all"]);
  writes.length = 0;
});

/** Fills the caches as reflectors do. */
async function list(): Promise<void> {
  for (const [kind, cache] of [
    [CONFIGS, configs],
    [REVISIONS, revisions],
  ] as const) {
    const request = { verb: "list", resource: resourceOf(kind) } as const;
    const { objects } = await client.list(request, { limit: 500, continueToken: "" }, SIGNAL);
    cache.take({ objects, isFirst: true, isLast: true });
  }
}

/** Reconciles with fresh caches until there is nothing to write, as events of the writes would. */
async function settle(): Promise<void> {
  for (let before = -1; before !== writes.length;) {
    before = writes.length;
    await list();
    await reconciler.reconcile(KEY, SIGNAL);
  }
  await list();
}

async function apply(requestsPerUnit: number): Promise<void> {
  const spec = { domain: "shop", descriptors: [{ key: "user", rateLimit: { unit: "minute", requestsPerUnit } }] };
  await cluster.apply(
    JSON.stringify({ apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitConfig", metadata: KEY, spec }),
  );
}

/** The limits in the revisions. */
function kept(): readonly unknown[] {
  return revisions.list().map(({ content }) => {
    const { descriptors } = content["spec"] as { descriptors: [{ rateLimit: { requestsPerUnit: number } }] };
    return descriptors[0].rateLimit.requestsPerUnit;
  });
}

describe("RevisionReconciler", () => {
  it("keeps a form that every pod has loaded, owned by its object, and writes nothing afterwards", async () => {
    await apply(1);
    await settle();
    expect(kept()).toEqual([1]);
    const [revision] = revisions.list();
    const metadata = revision?.content["metadata"] as { ownerReferences: unknown };
    expect(metadata.ownerReferences).toEqual([
      {
        apiVersion: "ratelimit.weir.dev/v1alpha1",
        kind: "RateLimitConfig",
        name: "shop",
        uid: configs.get(KEY)?.uid,
        controller: true,
      },
    ]);
    expect(revision && configOfRevision(revision)).toEqual(KEY);
    expect(writes).toEqual([`apply ${revision?.name}`]);
    await settle();
    expect(writes).toHaveLength(1);
  });

  it("keeps the earlier form until every pod has loaded the present one, and creates before it deletes", async () => {
    await apply(1);
    await settle();
    isLoaded = false;
    await apply(2);
    await settle();
    expect(kept()).toEqual([1]);
    const [before] = revisions.list();
    isLoaded = true;
    await settle();
    const [after] = revisions.list();
    expect(kept()).toEqual([2]);
    expect(writes.slice(1)).toEqual([`apply ${after?.name}`, `delete ${before?.name}`]);
  });

  it("keeps nothing of an object that no pod has loaded, that is gone, or that is being deleted", async () => {
    isLoaded = false;
    await apply(1);
    await settle();
    expect(kept()).toEqual([]);
    isLoaded = true;
    await cluster.kubectl(["patch", "rlc", "shop", "--type=merge", "-p", '{"metadata":{"finalizers":["test/hold"]}}']);
    await cluster.kubectl(["delete", "rlc", "shop", "--wait=false"]);
    await settle();
    expect(kept()).toEqual([]);
    await cluster.kubectl(["patch", "rlc", "shop", "--type=merge", "-p", '{"metadata":{"finalizers":[]}}']);
    await settle();
    expect(writes).toEqual([]);
  });

  it("does not take over the revision of a deleted object of the same name and spec", async () => {
    await apply(1);
    await settle();
    await cluster.kubectl(["delete", "rlc", "shop"]);
    await apply(1);
    await settle();
    const uids = revisions.list().map(({ content }) => {
      const { ownerReferences } = content["metadata"] as { ownerReferences: [{ uid: string }] };
      return ownerReferences[0].uid;
    });
    expect(new Set(uids).size).toBe(2);
    expect(uids).toContain(configs.get(KEY)?.uid);
  });
});
