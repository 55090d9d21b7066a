import { ServiceError } from "@weir/common/errors/service-error";
import { createLog } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Controller } from "./controller.ts";
import { ControllerMetricsSet } from "./controller-metrics.ts";
import { ObjectCache } from "./object-cache.ts";
import type { ObjectKey, ReconcileResult } from "./reconciler.ts";

function objectOf(name: string, resourceVersion: string, content = {}): KubernetesObject {
  return { name, namespace: "team", uid: name, resourceVersion, generation: 1, content };
}

const HOUR_MS = 3_600_000;
const THINGS = resourceOf({ group: "", version: "v1", plural: "things" }, "team");

describe("Controller", () => {
  /** Lines of the log. */
  let lines: string[];
  let cache: ObjectCache;
  let registry: Registry;
  let controller: Controller;
  /** Names in the order in which their reconciles began. */
  let began: string[];
  /** Ends the reconciles that wait; those of other names end immediately. */
  let waiting: Map<string, () => void>;
  let results: Map<string, () => ReconcileResult>;

  async function reconcile({ name }: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    began.push(name);
    if (waiting.has(name)) {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      waiting.set(name, () => resolve(undefined));
      signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      await promise;
    }
    return results.get(name)?.() ?? {};
  }

  /**
   * Lets time pass, with everything that happens in it. A turn of the event loop that begins in another
   * takes one of these milliseconds.
   */
  async function pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  async function metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
    const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
    return values.find((value) => Object.entries(labels).every(([label, text]) => value.labels[label] === text))?.value;
  }

  beforeEach(() => {
    vi.useFakeTimers();
    [cache, registry] = [new ObjectCache(), new Registry()];
    [began, waiting, results, lines] = [[], new Map(), new Map(), []];
    const metrics = new ControllerMetricsSet(registry);
    controller = new Controller(
      {
        log: createLog({ level: "warn", format: "json", write: (line) => lines.push(line) }),
        monotonicMs: () => vi.getMockedSystemTime()!.getTime(),
        random: () => 1 - Number.EPSILON,
        reconciler: { name: "thing", reconcile },
        metrics,
      },
      cache,
      { concurrency: 2, resyncMs: 600_000 },
    );
  });

  afterEach(async () => {
    const stopped = controller.stop();
    for (const end of waiting.values()) end();
    await stopped;
    vi.useRealTimers();
  });

  it("start() reconciles all objects, and nothing before", async () => {
    cache.put(objectOf("a", "1"));
    cache.put(objectOf("b", "1"));
    await pass(1000);
    expect(began).toEqual([]);
    controller.start();
    await pass(2);
    expect(began).toEqual(["a", "b"]);
  });

  it("reconciles an object that appears, changes or goes", async () => {
    controller.start();
    for (const change of [
      () => cache.put(objectOf("a", "1")),
      () => cache.put(objectOf("a", "2")),
      () => cache.delete(objectOf("a", "3")),
    ]) {
      change();
      await pass(2);
    }
    expect(began).toEqual(["a", "a", "a"]);
  });

  it("reconciles the objects that a change of another kind concerns, before and after it", async () => {
    const others = new ObjectCache();
    controller.follow(others, ({ content }) => [{ namespace: "team", name: String(content["for"]) }]);
    others.put(objectOf("other", "1", { for: "gone" }));
    controller.start();
    await pass(2);
    others.put(objectOf("other", "2", { for: "new" }));
    await pass(2);
    expect(began).toEqual(["gone", "gone", "new"]);
  });

  it("reconciles an object again that has changed during its reconcile, afterwards and once", async () => {
    waiting.set("a", () => undefined);
    controller.start();
    for (const version of ["1", "2", "3"]) {
      cache.put(objectOf("a", version));
      await pass(1);
    }
    expect(began).toEqual(["a"]);
    waiting.get("a")?.();
    waiting.delete("a");
    await pass(1);
    expect(began).toEqual(["a", "a"]);
  });

  it("reconciles as many objects at a time as it may", async () => {
    for (const name of ["a", "b", "c"]) {
      waiting.set(name, () => undefined);
      cache.put(objectOf(name, "1"));
    }
    controller.start();
    await pass(10);
    expect(began).toEqual(["a", "b"]);
    const labels = { controller: "thing" };
    expect(await metric("controller_runtime_active_workers", labels)).toBe(2);
    expect(await metric("workqueue_depth", labels)).toBe(1);
    expect(await metric("workqueue_unfinished_work_seconds", labels)).toBe(0.02);
    expect(await metric("workqueue_longest_running_processor_seconds", labels)).toBe(0.01);
    waiting.get("a")?.();
    await pass(2);
    expect(began).toEqual(["a", "b", "c"]);
  });

  it("tries an object again that fails, ever later, while others are reconciled", async () => {
    results.set("a", () => {
      throw new ServiceError("SOME_CODE", "Cannot write");
    });
    for (const name of ["a", "b"]) cache.put(objectOf(name, "1"));
    controller.start();
    await pass(95);
    expect(began).toEqual(["a", "b"]);
    await pass(10);
    expect(began).toEqual(["a", "b", "a"]);
    await pass(190);
    expect(began).toHaveLength(3);
    await pass(10);
    expect(began).toEqual(["a", "b", "a", "a"]);
    expect(await metric("controller_runtime_reconcile_total", { result: "error" })).toBe(3);
    expect(await metric("controller_runtime_reconcile_errors_total")).toBe(3);
    expect(await metric("controller_runtime_reconcile_total", { result: "success" })).toBe(1);
    expect(await metric("workqueue_retries_total")).toBe(3);
  });

  it("notices within 15 s that a right has returned, for all objects, of which one asks", async () => {
    const lack = (): never => {
      throw new ApiFailure("forbidden", { verb: "patch", resource: THINGS }, "lacks patch");
    };
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`);
    for (const name of names) {
      results.set(name, lack);
      cache.put(objectOf(name, "1"));
    }
    controller.start();
    await pass(HOUR_MS);
    const before = began.length;
    await pass(60_000);
    // One asks every 10 s, the others every 5 minutes.
    expect(began.length - before).toBeLessThan(6 + 20);
    expect(lines.length).toBeLessThanOrEqual(61);
    results.clear();
    began.length = 0;
    await pass(15_000);
    expect(began.toSorted()).toEqual(names.toSorted());
  });

  it("waits longer and longer for what a quota does not allow", async () => {
    results.set("a", () => {
      throw new ApiFailure(
        "refused",
        { verb: "create", resource: THINGS },
        "a quota of the namespace does not allow it",
      );
    });
    cache.put(objectOf("a", "1"));
    controller.start();
    await pass(HOUR_MS);
    began.length = 0;
    await pass(HOUR_MS);
    expect(began.length).toBe(12);
    const kinds = ["refused", "forbidden"];
    const failures = await Promise.all(kinds.map((kind) => metric("weir_reconcile_failures_total", { kind })));
    expect(failures).toEqual([expect.any(Number), 0]);
    expect(failures[0]).toBeGreaterThan(12);
  });

  it("looks at an object again when its reconcile asks for it", async () => {
    results.set("a", () => ({ againAfterMs: 3000 }));
    cache.put(objectOf("a", "1"));
    controller.start();
    await pass(2990);
    expect(began).toEqual(["a"]);
    await pass(20);
    expect(began).toEqual(["a", "a"]);
    expect(await metric("controller_runtime_reconcile_total", { result: "requeue_after" })).toBe(2);
  });

  it("looks at each object that exists again after the resync, and at none that is gone", async () => {
    cache.put(objectOf("a", "1"));
    controller.start();
    controller.add({ namespace: "team", name: "gone" });
    await pass(599_000);
    expect(began).toEqual(["a", "gone"]);
    await pass(2000);
    expect(began).toEqual(["a", "gone", "a"]);
  });

  it("stop() aborts what runs, waits for its end, and start() begins anew", async () => {
    waiting.set("a", () => undefined);
    cache.put(objectOf("a", "1"));
    controller.start();
    await pass(2);
    let isStopped = false;
    const stopped = controller.stop().then(() => (isStopped = true));
    expect(isStopped).toBe(false);
    await stopped;
    cache.put(objectOf("a", "2"));
    await pass(600_000);
    expect(began).toEqual(["a"]);
    expect(await metric("controller_runtime_reconcile_errors_total")).toBe(0);
    waiting.delete("a");
    controller.start();
    await pass(2);
    expect(began).toEqual(["a", "a"]);
  });
});
