// The configuration flow from a real Kubernetes API server: kubectl → API server → control plane
// under its own account → mutual TLS → real pods.
import { join } from "node:path";
import { eventually } from "@weir/testing/eventually";
import type { KubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Flow, manifestOf, startFlow } from "../parts/flow.ts";
import type { Pod } from "../parts/pod.ts";
import { watchRolloutApi } from "../parts/replica.ts";
import { type LimitsCluster, startLimitsCluster } from "../parts/limits-cluster.ts";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";

/** Longest wait for things to be as they were after an outage, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

describe("the configuration flow from Kubernetes", () => {
  const folder = makeTemporaryFolder();
  const stops: (() => Promise<void> | void)[] = [() => folder.remove()];
  let limits: LimitsCluster;
  let cluster: KubernetesCluster;
  let flow: Flow;
  let pod: Pod;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    stops.push(() => limits.stop());
    cluster = limits.cluster;
    // The manager that changes it below: an apply removes no rules of another manager.
    await limits.apply(
      "mail",
      manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 2 } }]),
    );
    const env = { SOURCE: "kubernetes", SOURCE_DIRECTORY: "", KUBECONFIG: join(folder.path, "kubeconfig") };
    await limits.writeKubeconfig(env.KUBECONFIG);
    flow = await startFlow(folder.path, {}, { controlPlaneEnv: env });
    stops.push(() => flow.stop());
    pod = await flow.startPod();
  });

  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  it("enforces what was there before the start", async () => {
    expect(await askThrice("before")).toEqual([200, 200, 429]);
  });

  it("enforces what kubectl applies, changes and deletes", async () => {
    const untilLimit = (limit: number | undefined): Promise<void> =>
      eventually(`the limit to be ${limit}`, async () => expect(await limitOf("search")).toBe(limit));
    await apply("search", 3);
    await untilLimit(3);
    await apply("search", 4);
    await untilLimit(4);
    expect(await cluster.kubectl(["delete", "rlc", "search", "--namespace=shop"])).toMatchObject({ code: 0 });
    await untilLimit(undefined);
  });

  it("keeps a mistake that no schema sees to its resource: its last good form stays active, and others continue", async () => {
    const twins = [{ key: "user", value: "a" }, { key: "user_a" }];
    const questions = pod.keepAsking("mail");
    await limits.apply("mail", manifestOf("mail", "mail", twins));
    await eventually("the mistake to be reported", async () => {
      expect((await flow.status()).troubles).toMatchObject([
        {
          field: "spec.descriptors[1].key",
          message: expect.stringContaining("duplicate descriptor composite key 'mail.user_a'") as string,
          keepsOld: true,
        },
      ]);
    });
    await apply("search", 5);
    await eventually("the other limit to hold", async () => expect(await limitOf("search")).toBe(5));
    expect(await questions.end()).toBe("2");
    await limits.apply(
      "mail",
      manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 2 } }]),
    );
    await eventually("the mistake to be gone", async () => expect((await flow.status()).troubles).toEqual([]));
    await limits.delete("search");
  });

  it("gives a domain to the oldest resource that claims it, and to the next when that is gone", async () => {
    await apply("search", 6);
    await eventually("the limit to hold", async () => expect(await limitOf("search")).toBe(6));
    // The API server dates objects in whole seconds; of one second the first by name would own it.
    const second = Math.floor(Date.now() / 1000);
    await eventually("the next second", () => expect(Math.floor(Date.now() / 1000)).toBeGreaterThan(second));
    await limits.apply(
      "a-later",
      manifestOf("a-later", "search", [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 7 } }]),
    );
    await eventually("the conflict to be reported", async () => {
      const [trouble] = (await flow.status()).troubles;
      expect(trouble?.message).toContain('domain "search" belongs to shop/search');
    });
    expect(await limitOf("search")).toBe(6);
    await limits.delete("search");
    await eventually("the next one to own it", async () => expect(await limitOf("search")).toBe(7));
    await eventually("the conflict to be gone", async () => expect((await flow.status()).troubles).toEqual([]));
    await limits.delete("a-later");
  });

  it("reports to watchers of the rollout when the API server goes, and when it is back", async () => {
    const watcher = await watchRolloutApi(flow.controlPlaneUrl());
    await eventually("the first state", () =>
      expect(watcher.last()).toMatchObject({ ready: true, source: { location: expect.any(String) as string } }),
    );
    expect(watcher.last().source?.error).toBeUndefined();
    await cluster.killApiServer();
    await eventually("the problem", () => expect(watcher.last().source?.error).toContain("no answer from"));
    await cluster.startApiServer();
    await eventually("its end", () => expect(watcher.last().source?.error).toBeUndefined(), RECOVERY_TIMEOUT_MS);
    watcher.close();
  });

  it("keeps every limit while control plane and API server are away, and a new control plane waits for the whole", async () => {
    await apply("search", 5);
    await eventually("the new limit to hold", async () => expect(await limitOf("search")).toBe(5), RECOVERY_TIMEOUT_MS);
    await flow.killControlPlane();
    await cluster.killApiServer();
    const started = flow.startControlPlane();
    started.catch(() => undefined); // It is awaited below, unless something else fails first.
    const watcher = await eventually("the watch of the start to open", () => watchRolloutApi(flow.controlPlaneUrl()));
    await eventually("the reason to wait", () => expect(watcher.last().source?.error).toContain("no answer from"));
    expect(watcher.last().ready).toBeUndefined();
    expect([await limitOf("mail"), await limitOf("search")]).toEqual([2, 5]);
    await cluster.startApiServer();
    await apply("mail", 8);
    await started;
    await eventually("the watcher to receive that it is ready", () => {
      expect([watcher.last().ready, watcher.last().source?.error]).toEqual([true, undefined]);
    });
    watcher.close();
    await eventually(
      "the changed limit to hold",
      async () => expect(await limitOf("mail")).toBe(8),
      RECOVERY_TIMEOUT_MS,
    );
    expect(await limitOf("search")).toBe(5);
  });

  async function apply(name: string, requestsPerUnit: number): Promise<void> {
    const text = manifestOf(name, name, [{ key: "user", rateLimit: { unit: "day", requestsPerUnit } }]);
    const { code, stderr } = await cluster.kubectl(["apply", "--namespace=shop", "-f", "-"], text);
    expect(code, stderr).toBe(0);
  }

  async function askThrice(user: string): Promise<readonly number[]> {
    return [await pod.ask("mail", { user }), await pod.ask("mail", { user }), await pod.ask("mail", { user })];
  }

  function limitOf(domain: string, of = pod): Promise<number | undefined> {
    return of.limitOf(domain, { user: "probe" });
  }
});
