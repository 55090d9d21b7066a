// Revisions on a real API server: what is kept, when, and what is left for the garbage collector.
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { createLog } from "@weir/common/log/log";
import { specOfRevision } from "@weir/crds/rate-limit-config-revision/revision-spec";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { type ApiFailure, failureOfAnswer } from "@weir/kubernetes/client/api-failure";
import { type ApiKind, resourceOf } from "@weir/kubernetes/client/api-resource";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { EventText } from "../events/event-recorder.ts";
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
/** The failure that the API server answers to the next writes; undefined: it takes them. */
let refusal: ApiFailure | undefined;
const writes: string[] = [];
const logged: Record<string, unknown>[] = [];
const events: EventText[] = [];
const configs = new ObjectCache();
const revisions = new ObjectCache();

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs", "ratelimitconfigrevisions");
  const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
  client = new ApiClient(access, TIMES, { userAgent: "test", slow: () => undefined });
  const objects = new ObjectClient(client);
  reconciler = new RevisionReconciler({
    log: createLog({
      level: "info",
      format: "json",
      write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>),
    }),
    events: { record: (_object, text) => void events.push(text) },
    objects: {
      apply: async (...args) => {
        writes.push(`apply ${args[1].metadata.name}`);
        if (refusal !== undefined) throw refusal;
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
  refusal = undefined;
  await cluster.kubectl(["delete", "rlc,rlcr", "--all"]);
  for (const list of [writes, logged, events]) list.length = 0;
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
  await cluster.apply(
    JSON.stringify(
      configOf({ domain: "shop", descriptors: [{ key: "user", rateLimit: { unit: "minute", requestsPerUnit } }] }),
    ),
  );
}

function configOf(spec: unknown) {
  return { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitConfig", metadata: KEY, spec };
}

/** Creates the object with a number of rules, each with a value of so many characters. */
async function create(rules: number, valueLength: number): Promise<void> {
  const descriptors = Array.from({ length: rules }, (_, index) => ({
    key: "path",
    // Of random digits: what is repeated would be compressed to nothing.
    value: (String(index) + randomBytes(valueLength).toString("hex")).slice(0, valueLength),
    rateLimit: { unit: "minute", requestsPerUnit: index },
  }));
  const text = JSON.stringify(configOf({ domain: "shop", descriptors }));
  const path = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default/ratelimitconfigs";
  const { status, body } = await cluster.api.send("POST", path, text);
  expect([status, status === 201 ? "" : JSON.stringify(body).slice(0, 500)]).toEqual([201, ""]);
}

/** The limits in the revisions. */
function kept(): readonly unknown[] {
  return revisions.list().map(({ content }) => {
    const { descriptors } = specOfRevision(content) as { descriptors: [{ rateLimit: { requestsPerUnit: number } }] };
    return descriptors[0].rateLimit.requestsPerUnit;
  });
}

describe("RevisionReconciler", () => {
  it("keeps a revision that every pod has loaded, owned by its object, and writes nothing afterwards", async () => {
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

  it("keeps the earlier revision until every pod has loaded the present one, and creates before it deletes", async () => {
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

  it.each([
    { what: "of 866 kB", rules: 860, valueLength: 940 },
    { what: "near the most that etcd takes", rules: 1024, valueLength: 1010 },
  ])("keeps a revision $what, which would be too large as it is", async ({ rules, valueLength }) => {
    await create(rules, valueLength);
    await settle();
    const [revision] = revisions.list();
    expect([writes, logged, events]).toEqual([[`apply ${revision?.name}`], [], []]);
    const { spec } = configs.get(KEY)?.content ?? {};
    // Not toEqual: it would print megabytes.
    expect(isDeepStrictEqual(revision && specOfRevision(revision.content), spec)).toBe(true);
  });

  it("tries a revision that the API server refuses once for each content, and says so", async () => {
    refusal = said(422, "spec: Required value");
    await apply(1);
    await settle();
    await settle();
    expect([kept(), writes.length]).toEqual([[], 1]);
    expect(logged.map(({ "@message": message, resource }) => [message, resource])).toEqual([
      ["Cannot keep the last good revision of a RateLimitConfig until its spec changes", "default/shop"],
    ]);
    expect(events).toEqual([
      {
        type: "Warning",
        reason: "LastGoodNotKept",
        action: "Keep",
        note: 'the API server refuses a RateLimitConfigRevision of this spec: the server says "spec: Required value"',
      },
    ]);
    refusal = undefined;
    await apply(2);
    await settle();
    expect([kept(), writes.length]).toEqual([[2], 2]);
  });

  it("tries again what fails for another reason than its content", async () => {
    refusal = said(500, "etcdserver: leader changed");
    await apply(1);
    await expect(settle()).rejects.toThrow("leader changed");
    refusal = undefined;
    await settle();
    expect([kept(), events]).toEqual([[1], []]);
  });
});

/** The failure that an answer of the API server with this code and message means. */
function said(code: number, message: string): ApiFailure {
  const request = { verb: "patch", resource: resourceOf(REVISIONS) } as const;
  return failureOfAnswer(request, { code, status: { kind: "Status", code, message } });
}
