// Tests of cluster-caches.ts: a kind that the cluster may not know.
import { silentLog } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { ObjectPage } from "@weir/kubernetes/client/kubernetes-object";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ClusterCaches, type ClusterCachesDeps } from "./cluster-caches.ts";

const KIND: ApiKind = { group: "monitoring.coreos.com", version: "v1", plural: "podmonitors" };

/** An API server that does not know the kind until it is told to. */
class ServerWithoutKind {
  knowsKind = false;
  lists = 0;
  #endWatch: () => void = () => undefined;

  readonly client: ClusterCachesDeps["client"] = {
    list: async ({ resource }): Promise<ObjectPage> => {
      this.lists += 1;
      await Promise.resolve();
      if (this.knowsKind) return { objects: [], resourceVersion: "1", continueToken: "" };
      throw new ApiFailure("refused", { verb: "list", resource }, "not found", { isKindMissing: true });
    },
    watch: async (_request, _from, listener) => {
      listener.opened();
      await new Promise<void>((resolve) => {
        this.#endWatch = resolve;
      });
      return "ended";
    },
  };

  removeKind(): void {
    this.knowsKind = false;
    this.#endWatch();
  }
}

describe("ClusterCaches, an optional kind", () => {
  let caches: ClusterCaches;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  });

  afterEach(() => {
    caches.stop();
    vi.useRealTimers();
  });

  it("looks for a kind that the cluster does not know at the slow pace, and notices it", async () => {
    const server = new ServerWithoutKind();
    caches = new ClusterCaches(
      { client: server.client, log: silentLog(), clock: () => 0, random: () => 0.5 },
      { backoffInitialMs: 250, backoffMaxMs: 5000, slowMs: 15_000 },
    );
    const monitors = caches.follow(KIND, { isOptional: true });
    await caches.start();
    await vi.advanceTimersByTimeAsync(60_000);
    const early = server.lists;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([early <= 11, server.lists - early <= 6, monitors.isListed()]).toEqual([true, true, false]);
    server.knowsKind = true;
    await vi.advanceTimersByTimeAsync(15_000);
    expect(monitors.isListed()).toBe(true);
    server.removeKind();
    await vi.advanceTimersByTimeAsync(1000);
    expect(monitors.isListed()).toBe(false);
  });
});
