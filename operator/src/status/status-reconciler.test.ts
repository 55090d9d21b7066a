// Tests of status-reconciler.ts: what it remembers between reconciles of one resource.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { beforeEach, describe, expect, it } from "vitest";

import { mergeReports, type ReplicaReport } from "../reports/merge-reports.ts";
import { StatusReconciler } from "./status-reconciler.ts";

const KEY = { namespace: "shop", name: "mail" };
const CONFIG: KubernetesObject = {
  ...KEY,
  uid: "u1",
  resourceVersion: "1",
  generation: 1,
  content: {
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { ...KEY, uid: "u1" },
    spec: { domain: "mail", descriptors: [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 1 } }] },
  },
};
/** A replica that has just been found. */
const FOUND: ReplicaReport = { name: "cp-0", state: "awaited", rollout: undefined };

describe("StatusReconciler", () => {
  let epochMs: number;
  let monotonicMs: number;
  let writes: WrittenObject[];
  let reconciler: StatusReconciler;

  beforeEach(() => {
    epochMs = Date.UTC(2026, 0, 31, 12);
    monotonicMs = 5000;
    writes = [];
    reconciler = new StatusReconciler({
      clock: () => epochMs,
      monotonicMs: () => monotonicMs,
      objects: {
        apply: (_kind, object) => {
          writes.push(object);
          return Promise.resolve({ ...CONFIG, resourceVersion: "2", content: { ...CONFIG.content, ...object } });
        },
      },
      events: { record: () => undefined },
      configs: { get: () => CONFIG },
      reports: () => mergeReports([FOUND]),
    });
  });

  async function reconcile(): Promise<number | undefined> {
    return (await reconciler.reconcile(KEY, AbortSignal.timeout(60_000))).againAfterMs;
  }

  it("delays a status that waits for a replica no longer because the clock was set back", async () => {
    expect(await reconcile()).toBe(11_000);
    epochMs -= 3_600_000;
    monotonicMs += 11_000;
    expect(await reconcile()).toBeUndefined();
    expect(writes).toHaveLength(1);
  });

  it("delays a status anew when this process becomes the leader again", async () => {
    expect(await reconcile()).toBe(11_000);
    monotonicMs += 3_600_000;
    reconciler.start();
    expect(await reconcile()).toBe(11_000);
    expect(writes).toEqual([]);
  });
});
