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
      reports: () => ({ pods: undefined, isComplete: false, of: () => reports }),
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
    /** The report of a replica that has read this generation. */
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

  describe("while pods of others come and go", () => {
    let objects: Map<string, KubernetesObject>;
    let writtenMs: number[];

    beforeEach(() => {
      writtenMs = [];
      objects = new Map(
        Array.from({ length: 100 }, (_, index) => [`mail-${index}`, { ...CONFIG, name: `mail-${index}` }]),
      );
      reconciler = new StatusReconciler({
        clock: () => epochMs,
        monotonicMs: () => monotonicMs,
        objects: {
          apply: (_kind, object) => {
            writtenMs.push(monotonicMs);
            const before = objects.get(object.metadata.name)!;
            const resourceVersion = String(Number(before.resourceVersion) + 1);
            const after = { ...before, resourceVersion, content: { ...before.content, ...object } };
            objects.set(before.name, after);
            return Promise.resolve(after);
          },
        },
        events: { record: () => undefined },
        configs: { get: ({ name }) => objects.get(name) },
        reports: () => ({ pods: undefined, isComplete: false, of: () => reports }),
      });
    });

    /** Reconciles what is due, in steps of 50 ms; each step may report something else. */
    async function pass(ms: number, step: () => void = () => undefined): Promise<void> {
      const dueMs = new Map<string, number | undefined>();
      for (const endMs = monotonicMs + ms; monotonicMs < endMs; monotonicMs += 50) {
        const before = reports;
        step();
        for (const name of objects.keys()) {
          if (reports === before && dueMs.has(name) && (dueMs.get(name) ?? Infinity) > monotonicMs) continue;
          const key = { namespace: "shop", name };
          const { againAfterMs } = await reconciler.reconcile(key, AbortSignal.timeout(60_000));
          dueMs.set(name, againAfterMs === undefined ? undefined : monotonicMs + againAfterMs);
        }
      }
    }

    const withPods = (accepted: number): ResourceReports =>
      reportsOf([knownOf({ generation: 1, fleets: [fleetOf(accepted)] })]);

    it("writes the first statuses immediately, and counts of 20 resources in a second", async () => {
      reports = withPods(1);
      await pass(50);
      expect(writtenMs).toHaveLength(100);
      reports = withPods(2);
      monotonicMs += 3000;
      await pass(1000);
      expect(writtenMs.length - 100).toBe(20);
      await pass(4000);
      expect(writtenMs).toHaveLength(200);
    });

    it("writes an edit immediately while counts wait for their turn", async () => {
      reports = withPods(1);
      await pass(50);
      reports = withPods(2);
      monotonicMs += 3000;
      const edited = objects.get("mail-99")!;
      objects.set("mail-99", { ...edited, resourceVersion: "9", generation: 2 });
      reports = { ...reports, replicas: reportsOf([knownOf({ generation: 2, fleets: [fleetOf(2)] })]).replicas };
      const { againAfterMs } = await reconciler.reconcile(
        { namespace: "shop", name: "mail-99" },
        AbortSignal.timeout(60_000),
      );
      expect([againAfterMs, writtenMs.at(-1)]).toEqual([undefined, monotonicMs]);
    });

    it("writes a status ever more rarely while counts change each second for two minutes", async () => {
      let pods = 1;
      reports = withPods(pods);
      await pass(120_000, () => {
        if (monotonicMs % 1000 === 0) reports = withPods((pods = 3 - pods));
      });
      expect(writtenMs.length / objects.size).toBeLessThan(8);
    });
  });
});
