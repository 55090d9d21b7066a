// Tests of labelled-namespaces.ts: statuses while Namespaces lose and get the labels.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { beforeEach, describe, expect, it } from "vitest";

import { FakeObjects } from "../certificates/fake-objects.suite.ts";
import { ObjectCache } from "../reconcile/object-cache.ts";
import { RATE_LIMIT_CONFIGS } from "../status/status-reconciler.ts";
import { LabelledNamespaces } from "./labelled-namespaces.ts";

const SHOP = { namespace: "shop", name: "mail" };
const { signal } = new AbortController();

describe("LabelledNamespaces", () => {
  let objects: FakeObjects;
  let namespaces: ObjectCache;
  let reconciler: LabelledNamespaces;
  /** Reconciles of the reconciler behind it. */
  let others: string[];

  const current = async (): Promise<KubernetesObject> => (await objects.get(RATE_LIMIT_CONFIGS, SHOP))!;

  beforeEach(async () => {
    objects = new FakeObjects(() => 0);
    objects.put(RATE_LIMIT_CONFIGS, {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitConfig",
      metadata: { ...SHOP, generation: 1 },
    });
    const configs = new ObjectCache();
    namespaces = new ObjectCache();
    configs.put(await current());
    others = [];
    reconciler = new LabelledNamespaces({
      clock: () => 0,
      objects,
      configs,
      namespaces,
      selector: "limits=on",
      reconciler: {
        name: "ratelimitconfig",
        reconcile: ({ name }) => {
          others.push(name);
          return Promise.resolve({ againAfterMs: 7 });
        },
      },
    });
  });

  it("marks what is in a Namespace without the labels, and nothing else", async () => {
    expect(await reconciler.reconcile(SHOP, signal)).toEqual({});
    const { conditions } = (await current()).content["status"] as { conditions: object[] };
    expect(conditions).toHaveLength(3);
    expect(conditions[0]).toMatchObject({
      status: "Unknown",
      reason: "NamespaceNotSelected",
      message: "Weir does not watch this namespace: its labels are not those of WATCH_NAMESPACE_SELECTOR, limits=on",
    });
    expect(others).toEqual([]);
  });

  it("leaves what is in a Namespace with the labels, or gone, to the reconciler of statuses", async () => {
    const named = { name: "shop", namespace: "", uid: "1", resourceVersion: "1", generation: undefined, content: {} };
    namespaces.put(named);
    expect(await reconciler.reconcile(SHOP, signal)).toEqual({ againAfterMs: 7 });
    namespaces.delete(named);
    await reconciler.reconcile({ namespace: "web", name: "gone" }, signal);
    expect([others, objects.writes]).toEqual([["mail", "gone"], []]);
  });
});
