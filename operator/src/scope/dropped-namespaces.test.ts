// Tests of dropped-namespaces.ts: what a leader marks that watches fewer namespaces than the one before.
import { createLog } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import { beforeEach, describe, expect, it } from "vitest";

import { FakeObjects } from "../certificates/fake-objects.suite.ts";
import { LEASES } from "../leader/lease.ts";
import { ObjectCache } from "../reconcile/object-cache.ts";
import { DroppedNamespaces } from "./dropped-namespaces.ts";
import { CONFIG_STATUS, SERVICE_STATUS, type StatusKind } from "./not-watched.ts";

const LEASE = { namespace: "weir-system", name: "weir-operator" };
const READY = { conditions: [{ type: "Ready", status: "True", reason: "Ready" }] };
const { signal } = new AbortController();

describe("DroppedNamespaces", () => {
  let objects: FakeObjects;
  let nowMs: number;
  let lines: Record<string, unknown>[];

  function put(kind: StatusKind, namespace: string, name: string): void {
    const metadata = { namespace, name, generation: 1 };
    objects.put(kind.api, { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: kind.kind, metadata, status: READY });
  }

  /** A leader with these namespaces; undefined: all. It has read what is in them. */
  async function leaderOf(...namespaces: readonly string[]): Promise<DroppedNamespaces> {
    const cache = new ObjectCache();
    for (const namespace of namespaces.length === 0 ? ["bank", "shop", "web"] : namespaces)
      for (const object of await objects.list(CONFIG_STATUS.api, namespace)) cache.put(object);
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const deps = { log, clock: () => 0, monotonicMs: () => nowMs, objects, watched: [cache] };
    const scope = namespaces.length === 0 ? undefined : namespaces;
    const leader = new DroppedNamespaces(deps, {
      namespace: LEASE.namespace,
      leaseName: LEASE.name,
      namespaces: scope,
    });
    leader.start();
    return leader;
  }

  async function lead(...namespaces: readonly string[]): Promise<void> {
    const leader = await leaderOf(...namespaces);
    await leader.reconcile(leader.key, signal);
  }

  /** The reason of the condition Ready. */
  async function reasonOf(kind: StatusKind, namespace: string, name: string): Promise<string | undefined> {
    const object = await objects.get(kind.api, { namespace, name });
    const { conditions } = object?.content["status"] as { conditions: { type: string; reason: string }[] };
    return conditions.find(({ type }) => type === "Ready")?.reason;
  }

  async function note(): Promise<unknown> {
    const metadata = (await objects.get(LEASES, LEASE))?.content["metadata"] as { annotations?: object } | undefined;
    return metadata?.annotations;
  }

  beforeEach(() => {
    objects = new FakeObjects(() => 0);
    nowMs = 0;
    lines = [];
    objects.put(LEASES, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: LEASE });
    for (const namespace of ["shop", "web", "bank"]) put(CONFIG_STATUS, namespace, "mail");
    put(SERVICE_STATUS, "web", "edge");
  });

  it("notes the namespaces that have resources, once", async () => {
    const leader = await leaderOf();
    await leader.reconcile(leader.key, signal);
    await leader.reconcile(leader.key, signal);
    expect(await note()).toEqual({ "ratelimit.weir.dev/namespaces": "bank,shop,web" });
    expect(objects.writes).toEqual(["weir-system/weir-operator"]);
  });

  it.each([
    { what: "all namespaces", before: [] },
    { what: "more namespaces", before: ["bank", "shop", "web"] },
  ])("marks the resources of namespaces that are not watched any more, after $what", async ({ before }) => {
    await lead(...before);
    await lead("shop");
    expect(await reasonOf(CONFIG_STATUS, "shop", "mail")).toBe("Ready");
    expect(await reasonOf(CONFIG_STATUS, "web", "mail")).toBe("NotWatched");
    expect(await reasonOf(SERVICE_STATUS, "web", "edge")).toBe("NotWatched");
    expect(await reasonOf(CONFIG_STATUS, "bank", "mail")).toBe("NotWatched");
    expect(await note()).toEqual({ "ratelimit.weir.dev/namespaces": "shop" });
    objects.writes.length = 0;
    await lead("shop");
    expect(objects.writes).toEqual([]);
  });

  it("marks nothing without a note, or with more namespaces than before", async () => {
    await lead("shop");
    await lead("shop", "web");
    await lead();
    expect(objects.writes).toEqual(Array(3).fill("weir-system/weir-operator"));
  });

  it("waits a minute for a missing right, then names the namespace and the command, and forgets it", async () => {
    await lead();
    const denied = new ApiFailure("forbidden", { verb: "list", resource: resourceOf(CONFIG_STATUS.api, "web") }, "no");
    objects.fail = (_name, namespace) => {
      if (namespace === "web") throw denied;
    };
    const leader = await leaderOf("shop");
    await expect(leader.reconcile(leader.key, signal)).rejects.toBe(denied);
    nowMs = 59_000;
    await expect(leader.reconcile(leader.key, signal)).rejects.toBe(denied);
    expect(await reasonOf(CONFIG_STATUS, "bank", "mail")).toBe("NotWatched");
    nowMs = 60_000;
    await leader.reconcile(leader.key, signal);
    expect(lines.filter(({ level }) => level === "warning")).toMatchObject([
      {
        "@message": "Statuses in a namespace that is not watched any more stay as they are",
        namespace: "web",
        command: `kubectl get ratelimitconfigs,ratelimitservices -n web -o name | xargs -I{} kubectl patch {} -n web --subresource=status --type=merge -p '{"status":null}'`,
      },
    ]);
    expect(await note()).toEqual({ "ratelimit.weir.dev/namespaces": "shop" });
  });

  it("marks when the right comes in that minute", async () => {
    await lead();
    objects.fail = (_name, namespace) => {
      if (namespace !== "web") return;
      throw new ApiFailure("forbidden", { verb: "list", resource: resourceOf(CONFIG_STATUS.api, "web") }, "no");
    };
    const leader = await leaderOf("shop");
    await expect(leader.reconcile(leader.key, signal)).rejects.toThrow("no");
    objects.fail = () => undefined;
    nowMs = 30_000;
    await leader.reconcile(leader.key, signal);
    expect(await reasonOf(CONFIG_STATUS, "web", "mail")).toBe("NotWatched");
  });

  it("waits for a Lease that was deleted", async () => {
    objects.remove(LEASES, LEASE);
    const leader = await leaderOf();
    expect(await leader.reconcile(leader.key, signal)).toEqual({ againAfterMs: 5000 });
    expect(objects.writes).toEqual([]);
  });
});
