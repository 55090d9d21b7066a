// Tests of status-reconciler.ts: what it remembers between reconciles of one resource.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";
import { beforeEach, describe, expect, it } from "vitest";

import { mergeReports, type ReplicaReport } from "../reports/merge-reports.ts";
import type { ResourceReports } from "../reports/merged-reports.ts";
import { fleetOf, knownOf, reportsOf } from "./replica-reports.suite.ts";
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
  let cached: KubernetesObject;
  let reports: ResourceReports;
  let reconciler: StatusReconciler;

  beforeEach(() => {
    epochMs = Date.UTC(2026, 0, 31, 12);
    monotonicMs = 5000;
    writes = [];
    cached = CONFIG;
    reports = mergeReports([FOUND]).of("shop/mail");
    reconciler = new StatusReconciler({
      clock: () => epochMs,
      monotonicMs: () => monotonicMs,
      objects: {
        apply: (_kind, object) => {
          writes.push(object);
          const resourceVersion = `${writes.length + 1}`;
          cached = { ...cached, resourceVersion, content: { ...cached.content, ...object } };
          return Promise.resolve(cached);
        },
      },
      events: { record: () => undefined },
      configs: { get: () => cached },
      reports: () => ({ pods: undefined, of: () => reports }),
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

  describe("while a pod never answers", () => {
    /** What a replica reports that has read this generation. */
    const read = (generation: number) => knownOf({ generation, fleets: [fleetOf(1, { pending: 1 })] });

    beforeEach(async () => {
      reports = reportsOf([read(1)]);
      expect(await reconcile()).toBe(2000);
      monotonicMs += 2000;
      expect(await reconcile()).toBeUndefined();
      expect(writes).toHaveLength(1);
      // The watch brings the write, and an hour passes.
      expect(await reconcile()).toBeUndefined();
      monotonicMs += 3_600_000;
    });

    it("writes nothing for a replica that is found, and answers like the others", async () => {
      reports = reportsOf([read(1)], { awaited: ["cp-1"] });
      expect(await reconcile()).toBe(11_000);
      monotonicMs += 1000;
      reports = reportsOf([read(1), knownOf({ generation: 1, fleets: [fleetOf(0)] })]);
      expect(await reconcile()).toBeUndefined();
      expect(writes).toHaveLength(1);
    });

    it("writes the status of an edit once", async () => {
      cached = { ...cached, resourceVersion: "9", generation: 2 };
      expect(await reconcile()).toBe(11_000);
      monotonicMs += 1000;
      reports = reportsOf([read(2)]);
      expect(await reconcile()).toBe(2000);
      monotonicMs += 2000;
      expect(await reconcile()).toBeUndefined();
      expect(await reconcile()).toBeUndefined();
      expect(writes).toHaveLength(2);
      expect(writes[1]).toMatchObject({ status: { observedGeneration: 2, pods: { summary: "1/2" } } });
    });
  });
});
